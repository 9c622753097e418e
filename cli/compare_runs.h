#pragma once

#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/metrics/intervals/comparison.h"

namespace tally::cli {

/// Two files of replicates, compared metric by metric.
struct ComparedRuns {
  std::string first;  ///< their paths; empty where there are no files
  std::string second;
  double level = 0;
  /// By metric and part, "roc.fpr", in the order of the first file.
  Comparisons comparisons;
  std::vector<std::string> only_first;  ///< metrics
  std::vector<std::string> only_second;
};

/// Reads and compares arguments.runs. Throws c10::ValueError that names the
/// file or metric: for files that evaluate has not written, for metrics,
/// methods, seeds or rows that differ, and if no metric is in both.
ComparedRuns compare_runs(const Arguments& arguments);

/// As a table, "METRIC  first  second  difference  low  high  p  n  undefined"
/// with a line for each number; as JSON, {"first", "second", "level",
/// "comparisons": {name: {...}}, "only_first", "only_second"}; or as CSV, with
/// the columns of the table.
std::string render(const ComparedRuns& runs, Format format);

/// Says on the standard error which metrics only one file has.
void print_remarks(const ComparedRuns& runs);

}  // namespace tally::cli
