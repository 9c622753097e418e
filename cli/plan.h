#pragma once

#include <string>

#include "tally/cli/arguments.h"

namespace tally::cli {

/// What `tally plan` prints: the number of rows, and the width or power that it
/// gives, as a table or as JSON with the options. Throws c10::ValueError for
/// what no number of rows can give.
std::string plan(const Arguments& arguments);

}  // namespace tally::cli
