#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/clustering/states/label_pairs.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The fraction of pairs of samples on which two clusterings agree: both put
/// them into one cluster, or both into two.
///
///     (pairs together in both + pairs apart in both) / all pairs
///
/// update(preds, target): see MutualInfoScore, with which it shares its state.
/// Result: 0-dim float64 in [0, 1]; 1 for a single sample. NaN without samples.
/// Pairs are counted in 128 bits: no number of samples overflows.
/// Errors: as in MutualInfoScore. Not differentiable.
/// As sklearn.metrics.rand_score.
///
/// Example:
///     RandScore score;
///     score.update(at::randint(5, {32}, at::kLong),
///                  at::randint(3, {32}, at::kLong));
///     double value = score.compute().item<double>();
class RandScore final : public MetricOf<RandScore, LabelPairs, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RandScore";
  static constexpr MetricSummary kSummary{
      "The fraction of pairs of samples on which clusterings agree.",
      "[0, 1]",
      "",
      "rand index, ri",
      R"(\frac{a + b}{\binom{N}{2}})",
      "Rand 1971"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The Rand score adjusted for chance: 0 is what clusters of the same sizes
/// have on average.
///
///     2 (tp tn - fn fp) / ((tp + fn)(fn + tn) + (tp + fp)(fp + tn))
/// of pairs of samples, which are positive if they are together.
///
/// update(preds, target): see MutualInfoScore, with which it shares its state.
/// Result: 0-dim float64 in [-0.5, 1]; exactly 1 for the same clusters under
/// any names. NaN without samples.
/// Errors: as in MutualInfoScore. Not differentiable.
/// As sklearn.metrics.adjusted_rand_score (Hubert and Arabie 1985).
///
/// Example:
///     AdjustedRandScore score;
///     score.update(at::randint(5, {32}, at::kLong),
///                  at::randint(3, {32}, at::kLong));
///     double value = score.compute().item<double>();
class AdjustedRandScore final
    : public MetricOf<AdjustedRandScore, LabelPairs, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "AdjustedRandScore";
  static constexpr MetricSummary kSummary{
      "The Rand score, adjusted for chance.",
      "[-0.5, 1]",
      "",
      "ari, adjusted rand index",
      R"(\frac{RI - E[RI]}{\max RI - E[RI]})",
      "Hubert and Arabie 1985"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RandScore, LabelPairs, at::Tensor>;
extern template class MetricOf<AdjustedRandScore, LabelPairs, at::Tensor>;

}  // namespace tally
