#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/inputs/outputs_options.h"
#include "tally/metrics/regression/states/sample_pairs.h"

namespace tally {

using SpearmanCorrCoefOptions = OutputsOptions;

/// Spearman's rank correlation coefficient: Pearson's coefficient of ranks.
///
///     sum_i (r_i - mean r)(s_i - mean s)
///         / sqrt(sum_i (r_i - mean r)^2 sum_i (s_i - mean s)^2)
///
/// where r_i and s_i are the ranks of preds_i and target_i; equal values get
/// their mean rank.
/// update(preds, target): of shape [N] or [N, 1], any real dtypes (integers
/// beyond 2^53 are rounded). With num_outputs > 1: [N, num_outputs].
/// Result: 0-dim, or [num_outputs]; float64 in [-1, 1]. NaN for fewer than two
/// samples and for constant inputs.
/// State: all samples, concatenated, with the same dtype in all updates.
/// compute() sorts them on the CPU.
/// NaN: the result of its output is NaN; NanPolicy::kIgnore ignores the sample.
/// Errors: c10::ValueError for shapes that differ or do not match num_outputs,
/// and for NaN with NanPolicy::kError; c10::TypeError for complex or sparse
/// inputs. Not differentiable.
///
/// Example:
///     SpearmanCorrCoef spearman;
///     spearman.update(preds, target);
///     double value = spearman.compute().item<double>();
class SpearmanCorrCoef final
    : public MetricOf<SpearmanCorrCoef, SamplePairs, at::Tensor,
                      SpearmanCorrCoefOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SpearmanCorrCoef";
  static constexpr MetricSummary kSummary{
      "Pearson's correlation of ranks.",
      "[-1, 1]",
      "",
      "spearman, spearman's rho, rank correlation, srcc, srocc",
      R"(\mathrm{corr}(rank(\hat y), rank(y)))",
      "Spearman 1904"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<SpearmanCorrCoef, SamplePairs, at::Tensor,
                               SpearmanCorrCoefOptions>;

}  // namespace tally
