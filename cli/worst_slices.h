#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tally/cli/evaluate.h"
#include "tally/metrics/slices/slice_comparison.h"
#include "tally/sync/communicator.h"

namespace tally::cli {

/// Compares the slices of an evaluation with all other rows, by those of its
/// metrics that are one number of which more or less is better, and says why
/// not by others.
class WorstSlices {
 public:
  /// Of a job with slices: always in reports, otherwise where statistics are
  /// asked for.
  static bool are_wanted(const Job& job, const Arguments& arguments);

  /// By --groups, at the level of --interval.
  WorstSlices(const Job& job, const Arguments& arguments);

  /// Does not throw.
  void batch(const std::vector<InputValue>& values, const SliceKeys& keys,
             const SampleIds& ids);
  /// Over all ranks. Collective.
  std::vector<MetricSlices> compute(
      const std::shared_ptr<sync::Communicator>& ranks);

 private:
  struct Compared {
    std::string metric;
    std::vector<std::size_t> inputs = {};  // their places, of those it takes
    std::optional<SliceComparison> comparison = std::nullopt;  // if it is one
    std::string failure = {};
  };

  void update(Compared& compared, const std::vector<InputRef>& all,
              const SliceKeys& keys, const SampleIds& ids) const;

  std::vector<std::string> names_;  // of inputs
  std::vector<Compared> compared_;
};

}  // namespace tally::cli
