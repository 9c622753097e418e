#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "tally/metrics/clustering/inputs/declared_inputs.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/tables/pair_counts.h"

namespace tally {

/// Counts the pairs of a predicted and a true label: the observer of all
/// metrics that compare two clusterings, which share it in a collection.
///
/// update(preds, target): of one shape, any integer dtypes, or texts; each pair
/// of elements is a sample. Any numbers are labels.
/// State: PairCounts, on the inputs' device; pairs are counted on the CPU.
/// Errors: c10::TypeError for floating-point labels, c10::ValueError for shapes
/// that differ.
class LabelPairs {
 public:
  static constexpr const char* kName = "LabelPairs";
  static constexpr const auto& kInputs = internal::clustering::kLabelInputs;
  using State = PairCounts;

  LabelPairs() = default;
  /// With options that have num_classes, labels are checked against it.
  template <class Options,
            class = decltype(std::declval<const Options&>().num_classes())>
  LabelPairs(const Options& options, const MetricOptions& metric_options) {
    if (metric_options.validate_args()) num_classes_ = options.num_classes();
  }

  State observe(const Keys& preds, const Keys& target) const;

 private:
  std::optional<std::int64_t> num_classes_;
};

}  // namespace tally
