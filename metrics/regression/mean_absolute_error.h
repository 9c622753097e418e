#pragma once

#include <cmath>

#include "tally/metrics/common/pair_kernels.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/inputs/outputs_options.h"
#include "tally/metrics/regression/kernels/error_kernels.h"
#include "tally/metrics/regression/states/error_sums.h"

namespace tally {

using MeanAbsoluteErrorOptions = OutputsOptions;
using LogCoshErrorOptions = OutputsOptions;

/// The error of MeanAbsoluteError.
struct AbsoluteError {
  static constexpr const char* kName = "AbsoluteError";
  using Options = OutputsOptions;
  explicit AbsoluteError(const Options&) {}
  double operator()(double preds, double target) const {
    return std::abs(preds - target);
  }
  template <class T>
  std::optional<internal::regression::PlainSums> sums(
      const T* preds, const T* target, std::int64_t count) const {
    return internal::regression::PlainSums{
        internal::regression::absolute_error_sum(preds, target, count),
        static_cast<double>(count), true};
  }
  at::Tensor operator()(const at::Tensor& preds,
                        const at::Tensor& target) const;
};
extern template class ErrorSums<AbsoluteError>;

/// The mean absolute error.
///
///     sum_i weight_i |preds_i - target_i| / sum_i weight_i
///
/// update(preds, target, weight = 1), NaN and errors: see ErrorSums.
/// Result: 0-dim, or [num_outputs]; float64, 0 or more; NaN before any update.
/// State: both sums in float64, merged by addition. Differences are computed in
/// float64, so that no dtype overflows.
/// Differentiable in preds and target; where they are equal the gradient is 0.
///
/// Example:
///     MeanAbsoluteError mae;
///     mae.update(preds, target);
///     double value = mae.compute().item<double>();
class MeanAbsoluteError final
    : public MetricOf<MeanAbsoluteError, ErrorSums<AbsoluteError>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanAbsoluteError";
  static constexpr MetricSummary kSummary{
      "Mean of absolute errors.", "[0, inf)", "",
      "mae, mean absolute deviation, l1",
      R"(\frac{1}{N} \sum_n |\hat y_n - y_n|)"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// The error of LogCoshError.
struct LogCosh {
  static constexpr const char* kName = "LogCosh";
  using Options = OutputsOptions;
  explicit LogCosh(const Options&) {}
  double operator()(double preds, double target) const;
  template <class T>
  std::optional<internal::regression::PlainSums> sums(
      const T* preds, const T* target, std::int64_t count) const {
    return internal::regression::error_sums(
        internal::regression::ErrorKind::kLogCosh, 0, preds, target, count);
  }
  at::Tensor operator()(const at::Tensor& preds,
                        const at::Tensor& target) const;
};
extern template class ErrorSums<LogCosh>;

/// The mean logarithm of the hyperbolic cosine of the error: quadratic for
/// small errors, linear for large ones, which do not overflow.
///
///     sum_i weight_i log(cosh(preds_i - target_i)) / sum_i weight_i
///
/// Otherwise like MeanAbsoluteError.
///
/// Example:
///     LogCoshError error;
///     error.update(preds, target);
///     double value = error.compute().item<double>();
class LogCoshError final
    : public MetricOf<LogCoshError, ErrorSums<LogCosh>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "LogCoshError";
  static constexpr MetricSummary kSummary{
      "Mean of log(cosh(error)): smooth and robust.", "[0, inf)", "",
      "log-cosh, logcosh", R"(\frac{1}{N} \sum_n \log \cosh(\hat y_n - y_n))"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MeanAbsoluteError, ErrorSums<AbsoluteError>,
                               at::Tensor>;
extern template class MetricOf<LogCoshError, ErrorSums<LogCosh>, at::Tensor>;

}  // namespace tally
