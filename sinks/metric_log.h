#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/results.h"

namespace tally {

/// What a JsonLinesSink has written.
struct MetricLog {
  struct Step {
    std::int64_t step = 0;
    double time = 0;  ///< in seconds since 1970
    Results results;
  };

  std::string run;      ///< of the last start
  std::string command;  ///< the same
  std::vector<Step> steps;
};

/// Reads the log of a JsonLinesSink. Integers become int64, other numbers
/// float64, null an undefined tensor. A last line that is still being written,
/// or was cut off, is skipped.
///
/// Errors, which name the file and where there is one the line: no such file or
/// one that cannot be read (that of its errno); another file than such a log,
/// and a damaged line before the last (kInvalidArgument); a log that a newer
/// version of Tally has written (kFailedPrecondition).
///
/// Example:
///     absl::StatusOr<MetricLog> log = read_metric_log("runs/first/log.jsonl");
///     if (log.ok()) std::cout << log->steps.back().results;
absl::StatusOr<MetricLog> read_metric_log(const std::string& path);

}  // namespace tally
