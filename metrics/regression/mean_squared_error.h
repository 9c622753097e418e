#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/common/pair_kernels.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/kernels/error_kernels.h"
#include "tally/metrics/regression/states/error_sums.h"

namespace tally {

/// Options of MeanSquaredError.
///
/// Example: `MeanSquaredError rmse(MeanSquaredErrorOptions().squared(false));`
struct MeanSquaredErrorOptions {
  /// If true, the mean of the squares; if false, its square root (RMSE).
  TORCH_ARG(bool, squared) = true;
  /// If above 1, inputs are [N, num_outputs] and the result is [num_outputs].
  TORCH_ARG(std::int64_t, num_outputs) = 1;

 public:
  void visit(OptionVisitor& v) {
    v("squared", squared_, OptionRole::kValue, internal::words::kSquaredError);
    v("num_outputs", num_outputs_, OptionRole::kSize,
      internal::words::kNumOutputs);
  }
  Dimensions dimensions() const { return {Dimension::kOutput}; }
  void validate(const char* metric) const;
};

/// The error of MeanSquaredError.
struct SquaredError {
  static constexpr const char* kName = "SquaredError";
  using Options = MeanSquaredErrorOptions;
  explicit SquaredError(const Options&) {}
  double operator()(double preds, double target) const {
    return (preds - target) * (preds - target);
  }
  template <class T>
  std::optional<internal::regression::PlainSums> sums(
      const T* preds, const T* target, std::int64_t count) const {
    return internal::regression::PlainSums{
        internal::regression::squared_error_sum(preds, target, count),
        static_cast<double>(count), true};
  }
  at::Tensor operator()(const at::Tensor& preds,
                        const at::Tensor& target) const;
};
extern template class ErrorSums<SquaredError>;

/// The mean squared error, or its root.
///
///     sum_i weight_i (preds_i - target_i)^2 / sum_i weight_i
///
/// update(preds, target, weight = 1), NaN and errors: see ErrorSums.
/// Result: 0-dim, or [num_outputs]; float64, 0 or more; NaN before any update.
/// State: sums of squares and of weights in float64, merged by addition.
/// Differences are computed in float64, so that no dtype overflows.
/// Differentiable in preds and target. The gradient of the root is 0 where the
/// error is 0.
///
/// Example:
///     MeanSquaredError mse;
///     mse.update(preds, target);
///     double value = mse.compute().item<double>();
class MeanSquaredError final
    : public MetricOf<MeanSquaredError, ErrorSums<SquaredError>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanSquaredError";
  static constexpr MetricSummary kSummary{
      "Mean of squared errors, or its root.", "[0, inf)", "",
      "mse, mean square error, l2", R"(\frac{1}{N} \sum_n (\hat y_n - y_n)^2)"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MeanSquaredError, ErrorSums<SquaredError>,
                               at::Tensor>;

}  // namespace tally
