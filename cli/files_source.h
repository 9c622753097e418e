#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tally/cli/source.h"

namespace tally::cli {

/// Inputs in .npy files, and in text files with a text in each line. Further
/// text files for an input are further references of each row: those with the
/// same name, or behind the last input.
std::unique_ptr<Source> open_files(const Arguments& arguments,
                                   const std::vector<MetricInputs>& metrics);

}  // namespace tally::cli
