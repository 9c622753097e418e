#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/inputs/declared_inputs.h"
#include "tally/metrics/regression/inputs/outputs_options.h"
#include "tally/metrics/regression/mean_pinball_loss.h"
#include "tally/metrics/regression/states/explained.h"
#include "tally/metrics/regression/states/weighted_rows.h"

namespace tally {

using MedianAbsoluteErrorOptions = OutputsOptions;

/// The observer of MedianAbsoluteError.
class AbsoluteErrors {
 public:
  static constexpr const char* kName = "AbsoluteErrors";
  static constexpr const auto& kInputs = internal::regression::kWeightedInputs;
  using Options = MedianAbsoluteErrorOptions;
  struct State {
    WeightedRows errors;
    void fields(Fields& f) { errors.fields(f); }
    bool has_nan() const { return errors.has_nan(); }
  };

  AbsoluteErrors(const Options& options, const MetricOptions& metric_options)
      : num_outputs_(options.num_outputs()),
        nan_policy_(metric_options.nan_policy()),
        validate_(metric_options.validate_args()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  std::int64_t num_outputs_;
  NanPolicy nan_policy_;
  bool validate_;
};

/// The median absolute error.
///
///     median_i |preds_i - target_i|
///
/// for an even number of samples, the mean of the two in the middle; with
/// weights, the value where the cumulative weight reaches half of the total, as
/// in scikit-learn.
/// update(preds, target, weight = 1): of the same shape, any real dtypes; each
/// pair of elements is a sample. With num_outputs > 1: [N, num_outputs] and
/// weight [N], each row is a sample.
/// Result: 0-dim, or [num_outputs]; float64, 0 or more; NaN before any update.
/// State: all errors in float64, and weights, concatenated.
/// NaN: the result of its output is NaN; NanPolicy::kIgnore ignores the sample.
/// Errors: c10::ValueError for shapes that differ or do not match num_outputs,
/// for weights below 0, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs. Not differentiable.
///
/// Example:
///     MedianAbsoluteError median;
///     median.update(preds, target);
///     double value = median.compute().item<double>();
class MedianAbsoluteError final
    : public MetricOf<MedianAbsoluteError, AbsoluteErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MedianAbsoluteError";
  static constexpr MetricSummary kSummary{
      "Median of absolute errors.", "[0, inf)", "", "median error, medae",
      R"(\mathrm{median}_n |\hat y_n - y_n|)"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
  MetricSampling sampling() const override;
};

/// Options of D2PinballScore.
///
/// Example: `D2PinballScore d2(0.9);`
struct D2PinballScoreOptions {
  D2PinballScoreOptions(double alpha = 0.5) : alpha_(alpha) {}
  /// The predicted quantile, from 0 to 1. Default: 0.5, the median.
  TORCH_ARG(double, alpha);
  /// If above 1, inputs are [N, num_outputs].
  TORCH_ARG(std::int64_t, num_outputs) = 1;
  /// kUniformAverage or kRawValues.
  TORCH_ARG(MultiOutput, multioutput) = MultiOutput::kUniformAverage;

 public:
  void visit(OptionVisitor& v) {
    v("alpha", alpha_, internal::words::kAlpha);
    v("num_outputs", num_outputs_, OptionRole::kSize,
      internal::words::kNumOutputs);
    v("multioutput", multioutput_, OptionRole::kValue,
      internal::words::kMultioutput);
  }
  Dimensions dimensions() const { return {Dimension::kOutput}; }
  void validate(const char* metric) const;
};

/// Options of D2AbsoluteErrorScore.
struct D2AbsoluteErrorScoreOptions {
  D2AbsoluteErrorScoreOptions() : num_outputs_(1) {}
  template <class Count, RequireCount<Count> = 0>
  D2AbsoluteErrorScoreOptions(Count num_outputs)
      : num_outputs_(static_cast<std::int64_t>(num_outputs)) {}
  /// If above 1, inputs are [N, num_outputs]. Default: 1.
  TORCH_ARG(std::int64_t, num_outputs);
  /// kUniformAverage or kRawValues.
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

/// The observer of D2PinballScore and D2AbsoluteErrorScore.
class PinballAndTargets {
 public:
  static constexpr const char* kName = "PinballAndTargets";
  static constexpr const auto& kInputs =
      internal::regression::kWeightedColumnInputs;
  using Options = D2PinballScoreOptions;
  struct State {
    ErrorState loss;
    WeightedRows target;
    void fields(Fields& f) {
      loss.fields(f);
      target.fields(f);
    }
    bool has_nan() const { return loss.has_nan(); }
  };

  PinballAndTargets(const Options& options, const MetricOptions& metric_options)
      : error_(MeanPinballLossOptions(options.alpha())),
        num_outputs_(options.num_outputs()),
        nan_policy_(metric_options.nan_policy()),
        validate_(metric_options.validate_args()) {}
  PinballAndTargets(const D2AbsoluteErrorScoreOptions& options,
                    const MetricOptions& metric_options)
      : PinballAndTargets(Options(0.5).num_outputs(options.num_outputs()),
                          metric_options) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  PinballError error_;
  std::int64_t num_outputs_;
  NanPolicy nan_policy_;
  bool validate_;
};

/// The fraction of the pinball loss explained.
///
///     1 - mean pinball loss of preds / that of the targets' quantile alpha
///
/// update(preds, target, weight = 1): of shape [N] or [N, 1], any real dtypes;
/// weight [N]. With num_outputs > 1: [N, num_outputs], each row is a sample.
/// Result: 0-dim, or [num_outputs] with kRawValues; float64, at most 1. For a
/// constant target: 1 if the predictions are perfect, else 0, as in
/// scikit-learn. NaN for fewer than two samples.
/// State: the sum of losses in float64; all targets, and weights, concatenated.
/// NaN: propagates into its output; NanPolicy::kIgnore ignores the sample.
/// Errors: c10::ValueError for shapes that differ or do not match num_outputs,
/// for weights below 0, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs.
/// Differentiable in preds.
/// Source: Koenker and Machado 1999, as in scikit-learn.
///
/// Example:
///     D2PinballScore d2(/*alpha=*/0.9);
///     d2.update(preds, target);
///     double value = d2.compute().item<double>();
class D2PinballScore final
    : public MetricOf<D2PinballScore, PinballAndTargets, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "D2PinballScore";
  static constexpr MetricSummary kSummary{
      "Fraction of the quantile loss explained.",
      "(-inf, 1]",
      "",
      "d2 pinball, quantile r2",
      R"(1 - \frac{\sum_n \rho_\alpha(y_n - \hat y_n)}{\sum_n \rho_\alpha(y_n - q_\alpha)})",
      "Koenker and Machado 1999"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The fraction of the absolute error explained.
///
///     1 - sum_i w_i |t_i - p_i| / sum_i w_i |t_i - median t|
///
/// Otherwise like D2PinballScore.
///
/// Example:
///     D2AbsoluteErrorScore d2;
///     d2.update(preds, target);
///     double value = d2.compute().item<double>();
class D2AbsoluteErrorScore final
    : public MetricOf<D2AbsoluteErrorScore, PinballAndTargets, at::Tensor,
                      D2AbsoluteErrorScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "D2AbsoluteErrorScore";
  static constexpr MetricSummary kSummary{
      "Fraction of the absolute error that is explained (D2).",
      "(-inf, 1]",
      "",
      "d2 absolute error",
      R"(1 - \frac{\sum_n |\hat y_n - y_n|}{\sum_n |y_n - \mathrm{median}(y)|})",
      "Koenker and Machado 1999"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MedianAbsoluteError, AbsoluteErrors, at::Tensor>;
extern template class MetricOf<D2PinballScore, PinballAndTargets, at::Tensor>;
extern template class MetricOf<D2AbsoluteErrorScore, PinballAndTargets,
                               at::Tensor, D2AbsoluteErrorScoreOptions>;

}  // namespace tally
