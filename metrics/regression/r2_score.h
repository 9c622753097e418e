#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/states/explained.h"
#include "tally/metrics/regression/states/joint_moments.h"

namespace tally {

/// Options of R2Score.
///
/// Example:
///     R2Score r2(R2ScoreOptions(3).multioutput(MultiOutput::kRawValues));
struct R2ScoreOptions {
  R2ScoreOptions() : num_outputs_(1) {}
  template <class Count, RequireCount<Count> = 0>
  R2ScoreOptions(Count num_outputs)
      : num_outputs_(static_cast<std::int64_t>(num_outputs)) {}
  /// If above 1, inputs are [N, num_outputs]. Default: 1.
  TORCH_ARG(std::int64_t, num_outputs);
  /// The number of independent regressors for the adjusted value; 0: do not
  /// adjust.
  TORCH_ARG(std::int64_t, adjusted) = 0;
  TORCH_ARG(MultiOutput, multioutput) = MultiOutput::kUniformAverage;

 public:
  void visit(OptionVisitor& v) {
    v("num_outputs", num_outputs_, OptionRole::kSize,
      internal::words::kNumOutputs);
    v("adjusted", adjusted_, OptionRole::kValue,
      "Number of regressors to adjust for; 0: none.");
    v("multioutput", multioutput_, OptionRole::kValue,
      internal::words::kMultioutput);
  }
  Dimensions dimensions() const { return {Dimension::kOutput}; }
  void validate(const char* metric) const;
};

/// The coefficient of determination.
///
///     R^2 = 1 - sum_i w_i (t_i - p_i)^2 / sum_i w_i (t_i - mean t)^2
///     adjusted: 1 - (1 - R^2) (n - 1) / (n - adjusted - 1)
///
/// update(preds, target, weight = 1): of shape [N] or [N, 1], any real dtypes;
/// weight [N]. With num_outputs > 1: [N, num_outputs], each row is a sample.
/// Result: 0-dim, or [num_outputs] with kRawValues; float64, at most 1. For a
/// constant target: 1 if the predictions are perfect, else 0, as in
/// scikit-learn. NaN for fewer than two samples, and adjusted for fewer than
/// adjusted + 2.
/// State: see JointMoments; constant targets are detected for any scale and
/// offset.
/// NaN or infinity: propagates into its output; NanPolicy::kIgnore ignores
/// samples with a NaN.
/// Errors: c10::ValueError for shapes that differ or do not match num_outputs,
/// for weights below 0, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs.
/// Differentiable in preds and target. The gradient is 0 where the target is
/// constant or the value is NaN for lack of samples.
///
/// Example:
///     R2Score r2;
///     r2.update(preds, target);
///     double value = r2.compute().item<double>();
class R2Score final
    : public MetricOf<R2Score, JointMoments, at::Tensor, R2ScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "R2Score";
  static constexpr MetricSummary kSummary{
      "Coefficient of determination.",
      "(-inf, 1]",
      "",
      "r2, r squared, coefficient of determination",
      R"(1 - \frac{\sum_n (\hat y_n - y_n)^2}{\sum_n (y_n - \bar y)^2})",
      "Wright 1921"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// Options of ExplainedVariance.
///
/// Example: `ExplainedVariance explained(ExplainedVarianceOptions(3));`
struct ExplainedVarianceOptions {
  ExplainedVarianceOptions() : num_outputs_(1) {}
  template <class Count, RequireCount<Count> = 0>
  ExplainedVarianceOptions(Count num_outputs)
      : num_outputs_(static_cast<std::int64_t>(num_outputs)) {}
  /// If above 1, inputs are [N, num_outputs]. Default: 1.
  TORCH_ARG(std::int64_t, num_outputs);
  TORCH_ARG(MultiOutput, multioutput) = MultiOutput::kUniformAverage;

 public:
  void visit(OptionVisitor& v) {
    v("num_outputs", num_outputs_, OptionRole::kSize,
      internal::words::kNumOutputs);
    v("multioutput", multioutput_, OptionRole::kValue,
      internal::words::kMultioutput);
  }
  Dimensions dimensions() const { return {Dimension::kOutput}; }
  void validate(const char* metric) const;
};

/// The fraction of the target's variance that is explained: like R2Score, but
/// disregarding a constant bias of the predictions.
///
///     1 - var(t - p) / var t
///
/// Otherwise like R2Score, with which it shares its state.
///
/// Example:
///     ExplainedVariance explained;
///     explained.update(preds, target);
///     double value = explained.compute().item<double>();
class ExplainedVariance final
    : public MetricOf<ExplainedVariance, JointMoments, at::Tensor,
                      ExplainedVarianceOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ExplainedVariance";
  static constexpr MetricSummary kSummary{
      "R2Score that disregards a constant bias.", "(-inf, 1]", "",
      "explained variance, evs",
      R"(1 - \frac{\mathrm{Var}(y - \hat y)}{\mathrm{Var}(y)})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// Options of RelativeSquaredError.
///
/// Example:
///     RelativeSquaredError rrse(RelativeSquaredErrorOptions().squared(false));
struct RelativeSquaredErrorOptions {
  RelativeSquaredErrorOptions() : num_outputs_(1) {}
  template <class Count, RequireCount<Count> = 0>
  RelativeSquaredErrorOptions(Count num_outputs)
      : num_outputs_(static_cast<std::int64_t>(num_outputs)) {}
  /// If above 1, inputs are [N, num_outputs]. Default: 1.
  TORCH_ARG(std::int64_t, num_outputs);
  /// If false, the square root of each output.
  TORCH_ARG(bool, squared) = true;

 public:
  void visit(OptionVisitor& v) {
    v("num_outputs", num_outputs_, OptionRole::kSize,
      internal::words::kNumOutputs);
    v("squared", squared_, OptionRole::kValue,
      "If true, the error; if false, its square root.");
  }
  Dimensions dimensions() const { return {Dimension::kOutput}; }
  void validate(const char* metric) const;
};

/// The squared error relative to that of the mean target, or its square root,
/// averaged over outputs.
///
///     sum_i w_i (t_i - p_i)^2 / sum_i w_i (t_i - mean t)^2
///
/// Result: 0-dim float64, 0 or more. For a constant target infinite, or NaN if
/// the predictions are perfect. NaN for fewer than two samples.
/// Otherwise like R2Score, with which it shares its state, except that
/// gradients for a constant target are infinite or NaN. The gradient of the
/// root is 0 where the error is 0.
///
/// Example:
///     RelativeSquaredError error;
///     error.update(preds, target);
///     double value = error.compute().item<double>();
class RelativeSquaredError final
    : public MetricOf<RelativeSquaredError, JointMoments, at::Tensor,
                      RelativeSquaredErrorOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RelativeSquaredError";
  static constexpr MetricSummary kSummary{
      "Squared error over that of predicting the mean, or its root.",
      "[0, inf)", "", "rse, rrse, fraction of variance unexplained",
      R"(\frac{\sum_n (\hat y_n - y_n)^2}{\sum_n (y_n - \bar y)^2})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<R2Score, JointMoments, at::Tensor,
                               R2ScoreOptions>;
extern template class MetricOf<ExplainedVariance, JointMoments, at::Tensor,
                               ExplainedVarianceOptions>;
extern template class MetricOf<RelativeSquaredError, JointMoments, at::Tensor,
                               RelativeSquaredErrorOptions>;

}  // namespace tally
