#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/portable/any_metric.h"

/// Files of states, by MetricBase::save(), from whichever processes.
namespace tally {

/// What a file holds.
struct StateFile {
  std::string path;
  AnyMetric metric;
  /// A number for each object that accumulated something of it; see
  /// MetricBase::to_bytes.
  std::vector<std::string> sources;
  /// Of how many parts it is, and which of them, from 0; 0 and none if it was
  /// not said.
  std::int64_t part_count = 0;
  std::vector<std::int64_t> parts;

  std::vector<std::int64_t> missing_parts() const;
};

/// "0, 3 and 17 more".
std::string part_list(const std::vector<std::int64_t>& parts);

/// Errors: those of MetricBase::load and from_bytes.
absl::StatusOr<StateFile> read_state_file(
    const std::string& path, const Registry& registry = builtin_registry());

/// What all files hold together, merged in this order, as one file that has no
/// path. Errors, which name the files: those of read_state_file;
/// kInvalidArgument for no file, for states of other metrics, for what two
/// files have both, a source or a part, for parts of wholes that are divided
/// differently, and, unless `partial`, for parts that are missing.
absl::StatusOr<StateFile> merge_state_files(
    const std::vector<std::string>& paths, bool partial = false,
    const Registry& registry = builtin_registry());

}  // namespace tally
