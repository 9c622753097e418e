#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/kernels/error_kernels.h"
#include "tally/metrics/regression/states/error_sums.h"

namespace tally {

/// Options of MinkowskiDistance.
///
/// Example: `MinkowskiDistance manhattan(1);`
struct MinkowskiDistanceOptions {
  /// The exponent, at least 1.
  MinkowskiDistanceOptions(double p = 0) : p_(p) {}
  /// 1: the sum of absolute errors; 2: the Euclidean distance.
  TORCH_ARG(double, p);

 public:
  void visit(OptionVisitor& v) { v("p", p_, internal::words::kP); }
  void validate(const char* metric) const;
};

/// The error of MinkowskiDistance.
struct ErrorPower {
  static constexpr const char* kName = "ErrorPower";
  using Options = MinkowskiDistanceOptions;
  explicit ErrorPower(const Options& options) : p(options.p()) {}
  double operator()(double preds, double target) const;
  template <class T>
  std::optional<internal::regression::PlainSums> sums(
      const T* preds, const T* target, std::int64_t count) const {
    if (!multiplies()) return std::nullopt;
    return internal::regression::error_sums(
        internal::regression::ErrorKind::kPower, p, preds, target, count);
  }
  /// Whether the power is computed by a few multiplications.
  bool multiplies() const { return p <= 8 && p == static_cast<int>(p); }
  at::Tensor operator()(const at::Tensor& preds,
                        const at::Tensor& target) const;
  double p;
};
extern template class ErrorSums<ErrorPower>;

/// The Minkowski distance between all predictions and all targets.
///
///     (sum_i weight_i |preds_i - target_i|^p)^(1/p)
///
/// update(preds, target, weight = 1): of the same shape, any real dtypes; each
/// pair of elements is a sample.
/// Result: 0-dim float64, 0 or more; grows with the number of samples. NaN
/// before any update.
/// State: the sum and the number of samples in float64, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore ignores the sample.
/// Errors: c10::ValueError for shapes that differ, for weights below 0, and for
/// NaN with NanPolicy::kError; c10::TypeError for complex or sparse inputs.
/// Differentiable in preds and target; where the distance is 0, the gradient is
/// 0.
///
/// Example:
///     MinkowskiDistance distance(/*p=*/3);
///     distance.update(preds, target);
///     double value = distance.compute().item<double>();
class MinkowskiDistance final
    : public MetricOf<MinkowskiDistance, ErrorSums<ErrorPower>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MinkowskiDistance";
  static constexpr MetricSummary kSummary{
      "p-norm of all errors.", "[0, inf)", "p=2",
      "minkowski, p-norm, lp distance",
      R"(\left( \sum_n |\hat y_n - y_n|^p \right)^{1/p})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MinkowskiDistance, ErrorSums<ErrorPower>,
                               at::Tensor>;

}  // namespace tally
