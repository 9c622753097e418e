#pragma once

#include "tally/metrics/metric_of.h"

namespace tally {

/// The observer of ContinuousRankedProbabilityScore.
class EnsembleScores {
 public:
  static constexpr const char* kName = "EnsembleScores";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kReal, "real [N, M]"},
      {"target", InputKind::kReal, "real [N]"}};
  struct State {
    Number sum;
    std::int64_t total = 0;
    void fields(Fields& f) { f("sum", sum)("total", total); }
    bool has_nan() const;
  };

  EnsembleScores(const NoOptions&, const MetricOptions& metric_options)
      : nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  NanPolicy nan_policy_;
};

/// The continuous ranked probability score of ensembles of predictions: the
/// absolute error of a distribution.
///
///     mean over samples of
///     sum_i |p_i - t| / M - sum_ij |p_i - p_j| / (2 M^2)
///
/// update(preds, target): [N, M], the M ensemble members for each sample, and
/// [N]; any real dtypes.
/// Result: 0-dim float64, 0 or more; NaN before any update.
/// State: the sum in float64 and the number of samples, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore ignores the sample.
/// Errors: c10::ValueError for other shapes and for NaN with NanPolicy::kError;
/// c10::TypeError for complex or sparse inputs.
/// Differentiable in preds and target.
/// Source: Gneiting and Raftery 2007.
///
/// Example:
///     ContinuousRankedProbabilityScore crps;
///     crps.update(at::randn({8, 20}), at::randn({8}));
///     double value = crps.compute().item<double>();
class ContinuousRankedProbabilityScore final
    : public MetricOf<ContinuousRankedProbabilityScore, EnsembleScores,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ContinuousRankedProbabilityScore";
  static constexpr MetricSummary kSummary{
      "Continuous ranked probability score of ensembles (CRPS).",
      "[0, inf)",
      "",
      "crps",
      R"(E|X - y| - \frac{1}{2} E|X - X'|)",
      "Gneiting and Raftery 2007"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const {
    return state.sum / state.total;
  }
};

extern template class MetricOf<ContinuousRankedProbabilityScore, EnsembleScores,
                               at::Tensor>;

}  // namespace tally
