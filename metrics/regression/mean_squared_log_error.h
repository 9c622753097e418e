#pragma once

#include <string>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/kernels/error_kernels.h"
#include "tally/metrics/regression/states/error_sums.h"

namespace tally {

/// Options of MeanSquaredLogError.
///
/// Example:
///     MeanSquaredLogError rmsle(MeanSquaredLogErrorOptions().squared(false));
struct MeanSquaredLogErrorOptions {
  /// If true, the mean of the squares; if false, its square root (RMSLE).
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

/// The error of MeanSquaredLogError.
struct SquaredLogError {
  static constexpr const char* kName = "SquaredLogError";
  using Options = MeanSquaredLogErrorOptions;
  explicit SquaredLogError(const Options&) {}
  double operator()(double preds, double target) const;
  template <class T>
  std::optional<internal::regression::PlainSums> sums(
      const T* preds, const T* target, std::int64_t count) const {
    return internal::regression::error_sums(
        internal::regression::ErrorKind::kSquaredLog, 0, preds, target, count);
  }
  at::Tensor operator()(const at::Tensor& preds,
                        const at::Tensor& target) const;
  bool valid(double preds, double target) const {
    return !(preds <= -1) && !(target <= -1);
  }
  at::Tensor valid(const at::Tensor& preds, const at::Tensor& target) const;
  std::string domain() const { return "preds and target above -1"; }
};
extern template class ErrorSums<SquaredLogError>;

/// The mean squared logarithmic error, or its root.
///
///     sum_i weight_i (log(1 + preds_i) - log(1 + target_i))^2 / sum_i weight_i
///
/// update(preds, target, weight = 1), NaN and errors: see ErrorSums.
/// Result: 0-dim, or [num_outputs]; float64, 0 or more; NaN before any update.
/// State: both sums in float64, merged by addition.
/// Values of -1 or less: c10::ValueError; without validate_args the result is
/// NaN or infinite.
/// Differentiable in preds and target. The gradient of the root is 0 where the
/// error is 0.
///
/// Example:
///     MeanSquaredLogError msle;
///     msle.update(preds.exp(), target.exp());
///     double value = msle.compute().item<double>();
class MeanSquaredLogError final
    : public MetricOf<MeanSquaredLogError, ErrorSums<SquaredLogError>,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanSquaredLogError";
  static constexpr MetricSummary kSummary{
      "Mean of squared differences of log(1 + value), or its root.", "[0, inf)",
      "", "msle",
      R"(\frac{1}{N} \sum_n (\log(1 + \hat y_n) - \log(1 + y_n))^2)"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MeanSquaredLogError, ErrorSums<SquaredLogError>,
                               at::Tensor>;

}  // namespace tally
