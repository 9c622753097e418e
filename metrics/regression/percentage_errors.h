#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/kernels/error_kernels.h"
#include "tally/metrics/regression/states/error_sums.h"

namespace tally {

/// Options of MeanAbsolutePercentageError and
/// SymmetricMeanAbsolutePercentageError.
///
/// Example:
///     MeanAbsolutePercentageError mape(
///         MeanAbsolutePercentageErrorOptions().eps(1e-3));
struct MeanAbsolutePercentageErrorOptions {
  /// Lower bound of the divisor, as targets may be 0. Default: 1.17e-6, as in
  /// TorchMetrics; scikit-learn uses 2.2e-16.
  TORCH_ARG(double, eps) = 1.17e-6;
  /// If above 1, inputs are [N, num_outputs] and the result is [num_outputs].
  TORCH_ARG(std::int64_t, num_outputs) = 1;

 public:
  /// Until 0.2.0.
  auto& epsilon(double value) { return eps(value); }
  void visit(OptionVisitor& v) {
    v.renamed("eps", "epsilon", eps_, OptionRole::kState,
              internal::words::kEpsilon);
    v("num_outputs", num_outputs_, OptionRole::kSize,
      internal::words::kNumOutputs);
  }
  Dimensions dimensions() const { return {Dimension::kOutput}; }
  void validate(const char* metric) const;
};
using SymmetricMeanAbsolutePercentageErrorOptions =
    MeanAbsolutePercentageErrorOptions;

/// Options of WeightedMeanAbsolutePercentageError.
struct WeightedMeanAbsolutePercentageErrorOptions {
  /// Lower bound of the divisor of the sum of errors.
  TORCH_ARG(double, eps) = 1.17e-6;

 public:
  /// Until 0.2.0.
  auto& epsilon(double value) { return eps(value); }
  void visit(OptionVisitor& v) {
    v.renamed("eps", "epsilon", eps_, OptionRole::kValue,
              internal::words::kEpsilon);
  }
  void validate(const char* metric) const;
};

/// The error of MeanAbsolutePercentageError.
struct AbsolutePercentageError {
  static constexpr const char* kName = "AbsolutePercentageError";
  using Options = MeanAbsolutePercentageErrorOptions;
  explicit AbsolutePercentageError(const Options& options)
      : epsilon(options.eps()) {}
  double operator()(double preds, double target) const;
  template <class T>
  std::optional<internal::regression::PlainSums> sums(
      const T* preds, const T* target, std::int64_t count) const {
    return internal::regression::error_sums(
        internal::regression::ErrorKind::kPercentage, epsilon, preds, target,
        count);
  }
  at::Tensor operator()(const at::Tensor& preds,
                        const at::Tensor& target) const;
  double epsilon;
};
extern template class ErrorSums<AbsolutePercentageError>;

/// The mean absolute percentage error: as a fraction, not in percent.
///
///     sum_i weight_i |preds_i - target_i| / max(|target_i|, epsilon)
///         / sum_i weight_i
///
/// update(preds, target, weight = 1), NaN and errors: see ErrorSums.
/// Result: 0-dim, or [num_outputs]; float64, 0 or more; NaN before any update.
/// Targets of 0 make it large, depending on `epsilon`.
/// State: both sums in float64, merged by addition.
/// Differentiable in preds and target.
///
/// Example:
///     MeanAbsolutePercentageError mape;
///     mape.update(preds, target);
///     double percent = 100 * mape.compute().item<double>();
class MeanAbsolutePercentageError final
    : public MetricOf<MeanAbsolutePercentageError,
                      ErrorSums<AbsolutePercentageError>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanAbsolutePercentageError";
  static constexpr MetricSummary kSummary{
      "Mean of absolute errors relative to the targets.", "[0, inf)", "",
      "mape",
      R"(\frac{1}{N} \sum_n \frac{|\hat y_n - y_n|}{\max(|y_n|, \epsilon)})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// The error of SymmetricMeanAbsolutePercentageError.
struct SymmetricPercentageError {
  static constexpr const char* kName = "SymmetricPercentageError";
  using Options = MeanAbsolutePercentageErrorOptions;
  explicit SymmetricPercentageError(const Options& options)
      : epsilon(options.eps()) {}
  double operator()(double preds, double target) const;
  template <class T>
  std::optional<internal::regression::PlainSums> sums(
      const T* preds, const T* target, std::int64_t count) const {
    return internal::regression::error_sums(
        internal::regression::ErrorKind::kSymmetric, epsilon, preds, target,
        count);
  }
  at::Tensor operator()(const at::Tensor& preds,
                        const at::Tensor& target) const;
  double epsilon;
};
extern template class ErrorSums<SymmetricPercentageError>;

/// The symmetric mean absolute percentage error, in [0, 2].
///
///     2 sum_i weight_i |preds_i - target_i|
///         / max(|preds_i| + |target_i|, epsilon) / sum_i weight_i
///
/// Otherwise like MeanAbsolutePercentageError.
///
/// Example:
///     SymmetricMeanAbsolutePercentageError smape;
///     smape.update(preds, target);
///     double value = smape.compute().item<double>();
class SymmetricMeanAbsolutePercentageError final
    : public MetricOf<SymmetricMeanAbsolutePercentageError,
                      ErrorSums<SymmetricPercentageError>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SymmetricMeanAbsolutePercentageError";
  static constexpr MetricSummary kSummary{
      "Mean of absolute errors relative to both magnitudes.", "[0, 2]", "",
      "smape",
      R"(\frac{1}{N} \sum_n \frac{2 |\hat y_n - y_n|}{\max(|\hat y_n| + |y_n|, \epsilon)})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// The error of WeightedMeanAbsolutePercentageError.
struct ErrorOverTargets {
  static constexpr const char* kName = "ErrorOverTargets";
  using Options = WeightedMeanAbsolutePercentageErrorOptions;
  explicit ErrorOverTargets(const Options&) {}
  double operator()(double preds, double target) const;
  template <class T>
  std::optional<internal::regression::PlainSums> sums(
      const T* preds, const T* target, std::int64_t count) const {
    return internal::regression::error_sums(
        internal::regression::ErrorKind::kOverTargets, 0, preds, target, count);
  }
  at::Tensor operator()(const at::Tensor& preds,
                        const at::Tensor& target) const;
  double scale(double target) const { return target < 0 ? -target : target; }
  at::Tensor scale(const at::Tensor& target) const;
};
extern template class ErrorSums<ErrorOverTargets>;

/// The sum of absolute errors over that of absolute targets, as a fraction.
///
///     sum_i weight_i |preds_i - target_i|
///         / max(sum_i weight_i |target_i|, epsilon)
///
/// update(preds, target, weight = 1): of the same shape, any real dtypes; each
/// pair of elements is a sample.
/// Result: 0-dim float64, 0 or more; NaN before any update, and where all
/// targets are 0 and predicted.
/// State: both sums in float64, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore ignores the sample.
/// Errors: c10::ValueError for shapes that differ, for weights below 0, and for
/// NaN with NanPolicy::kError; c10::TypeError for complex or sparse inputs.
/// Differentiable in preds and target.
///
/// Example:
///     WeightedMeanAbsolutePercentageError wmape;
///     wmape.update(preds, target);
///     double value = wmape.compute().item<double>();
class WeightedMeanAbsolutePercentageError final
    : public MetricOf<WeightedMeanAbsolutePercentageError,
                      ErrorSums<ErrorOverTargets>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "WeightedMeanAbsolutePercentageError";
  static constexpr MetricSummary kSummary{
      "Sum of absolute errors over the sum of absolute targets.", "[0, inf)",
      "", "wmape, wape", R"(\frac{\sum_n |\hat y_n - y_n|}{\sum_n |y_n|})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MeanAbsolutePercentageError,
                               ErrorSums<AbsolutePercentageError>, at::Tensor>;
extern template class MetricOf<SymmetricMeanAbsolutePercentageError,
                               ErrorSums<SymmetricPercentageError>, at::Tensor>;
extern template class MetricOf<WeightedMeanAbsolutePercentageError,
                               ErrorSums<ErrorOverTargets>, at::Tensor>;

}  // namespace tally
