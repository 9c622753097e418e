#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tally/cli/evaluate.h"
#include "tally/metrics/slices/slice_comparison.h"
#include "tally/sync/communicator.h"

namespace tally::cli {

/// Compares the slices of an evaluation with all other rows, by those of its
/// metrics that are one number of which more or less is better.
class WorstSlices final : public Watcher {
 public:
  struct Comparison {
    std::string metric;
    std::vector<ComparedSlice> slices;
  };
  struct Shown {
    std::string remark;  ///< why there are none; empty otherwise
    std::vector<Comparison> comparisons;
  };

  void begin(const Job& job) override;
  void batch(std::int64_t first, const std::vector<InputValue>& values,
             const SliceKeys* keys) override;
  /// Over all ranks. Collective.
  Shown compute(const std::shared_ptr<sync::Communicator>& ranks);

 private:
  struct Compared {
    std::string metric;
    std::vector<std::size_t> inputs;  // their places, of those it takes
    SliceComparison comparison;
  };

  std::string failure_;
  std::vector<std::string> names_;  // of inputs
  std::vector<Compared> compared_;
};

}  // namespace tally::cli
