#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/inputs/outputs_options.h"
#include "tally/metrics/regression/states/joint_moments.h"

namespace tally {

using PearsonCorrCoefOptions = OutputsOptions;
using ConcordanceCorrCoefOptions = OutputsOptions;

/// Pearson's correlation coefficient.
///
///     sum_i w_i (p_i - mean p)(t_i - mean t)
///         / sqrt(sum_i w_i (p_i - mean p)^2 sum_i w_i (t_i - mean t)^2)
///
/// update(preds, target, weight = 1): of shape [N] or [N, 1], any real dtypes;
/// weight [N]. With num_outputs > 1: [N, num_outputs], each row is a sample.
/// Result: 0-dim, or [num_outputs]; float64 in [-1, 1]. NaN for fewer than two
/// samples and for constant inputs. State: see JointMoments.
/// NaN or infinity: propagates into its output; NanPolicy::kIgnore ignores
/// samples with a NaN.
/// Errors: c10::ValueError for shapes that differ or do not match num_outputs,
/// for weights below 0, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs.
/// Differentiable in preds and target; without variance the gradient is 0.
///
/// Example:
///     PearsonCorrCoef pearson;
///     pearson.update(preds, target);
///     double value = pearson.compute().item<double>();
class PearsonCorrCoef final
    : public MetricOf<PearsonCorrCoef, JointMoments, at::Tensor,
                      PearsonCorrCoefOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "PearsonCorrCoef";
  static constexpr MetricSummary kSummary{
      "Linear correlation of predictions and targets.",
      "[-1, 1]",
      "",
      "pearson, pearson's r, linear correlation, pcc, plcc",
      R"(\frac{\mathrm{cov}(\hat y, y)}{\sigma_{\hat y} \sigma_y})",
      "Pearson 1895"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// Lin's concordance correlation coefficient: agreement of pairs with the line
/// of equality.
///
///     2 cov(p, t) / (var p + var t + (mean p - mean t)^2)
///
/// with weighted means of n samples, multiplied by n / (n - 1) for variances
/// and covariance.
/// update(): as in PearsonCorrCoef, with which it shares its state.
/// Result: 0-dim, or [num_outputs]; float64 in [-1, 1]; 0 if one input is
/// constant. NaN for fewer than two samples and if both are constant and equal.
/// Everything else as in PearsonCorrCoef.
/// Source: Lin 1989, with the variances of TorchMetrics.
///
/// Example:
///     ConcordanceCorrCoef concordance;
///     concordance.update(preds, target);
///     double value = concordance.compute().item<double>();
class ConcordanceCorrCoef final
    : public MetricOf<ConcordanceCorrCoef, JointMoments, at::Tensor,
                      ConcordanceCorrCoefOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ConcordanceCorrCoef";
  static constexpr MetricSummary kSummary{
      "Lin's concordance: agreement with the line of equality.",
      "[-1, 1]",
      "",
      "ccc, lin's concordance, concordance correlation",
      R"(\frac{2\, \mathrm{cov}(\hat y, y)}{\sigma_{\hat y}^2 + \sigma_y^2 + (\bar{\hat y} - \bar y)^2})",
      "Lin 1989"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<PearsonCorrCoef, JointMoments, at::Tensor,
                               PearsonCorrCoefOptions>;
extern template class MetricOf<ConcordanceCorrCoef, JointMoments, at::Tensor,
                               ConcordanceCorrCoefOptions>;

}  // namespace tally
