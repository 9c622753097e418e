#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/clustering/states/label_pairs.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The geometric mean of precision and recall of pairs of samples.
///
///     tp / sqrt((tp + fp)(tp + fn))
/// of pairs that are together in both clusterings (tp), in the predicted one
/// only (fp), in the true one only (fn).
///
/// update(preds, target): see MutualInfoScore, with which it shares its state.
/// Result: 0-dim float64 in [0, 1]; 0 where no pair is together in both, also
/// for a single sample. NaN without samples. No number of samples overflows.
/// Errors: as in MutualInfoScore. Not differentiable.
/// As sklearn.metrics.fowlkes_mallows_score.
///
/// Example:
///     FowlkesMallowsIndex index;
///     index.update(at::randint(5, {32}, at::kLong),
///                  at::randint(3, {32}, at::kLong));
///     double value = index.compute().item<double>();
class FowlkesMallowsIndex final
    : public MetricOf<FowlkesMallowsIndex, LabelPairs, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "FowlkesMallowsIndex";
  static constexpr MetricSummary kSummary{
      "The geometric mean of precision and recall of pairs.",
      "[0, 1]",
      "",
      "fmi, fowlkes-mallows",
      R"(\frac{TP}{\sqrt{(TP + FP)(TP + FN)}})",
      "Fowlkes and Mallows 1983"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<FowlkesMallowsIndex, LabelPairs, at::Tensor>;

}  // namespace tally
