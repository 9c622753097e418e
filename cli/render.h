#pragma once

#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/cli/evaluate.h"

namespace tally::cli {

/// Formats the report: as a table (see to_table) with class names from
/// `labels`; as JSON, {"ranks", "rows", "metrics": {name: value}}, in full
/// precision, with arrays as lists and "NaN", "Infinity" and "-Infinity" as
/// strings; or as CSV, with one line per number: the metric's name, the index
/// in the array ("2 0") and the value.
std::string render(const Report& report, Format format,
                   const std::vector<std::string>& labels = {});

/// "95% intervals of 40 rows: wilson". REQUIRES: not empty.
std::string intervals_text(const Intervals& intervals);

/// Writes the report's remarks to the standard error.
void print_remarks(const Report& report);

}  // namespace tally::cli
