#pragma once

#include <cstdint>
#include <string>

#include "tally/cli/evaluate.h"

namespace tally::cli {

/// What to tell the user when the metrics refuse a batch with a message: file,
/// line and column of the first five rows that they refuse, how many more there
/// are from row `first` on, the value and what is allowed. Names only the files
/// if it is not single rows that are wrong. Leaves the metrics without rows.
std::string refused_rows(Job& job, const std::string& message,
                         std::int64_t first);

/// A message of metrics in the words of the program: options as one writes
/// them, and no collection.
std::string program_words(const std::string& message, const Job& job);

}  // namespace tally::cli
