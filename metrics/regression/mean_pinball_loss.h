#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/kernels/error_kernels.h"
#include "tally/metrics/regression/states/error_sums.h"

namespace tally {

/// Options of MeanPinballLoss.
///
/// Example: `MeanPinballLoss loss(0.9);`
struct MeanPinballLossOptions {
  MeanPinballLossOptions(double alpha = 0.5) : alpha_(alpha) {}
  /// The predicted quantile, from 0 to 1. Default: 0.5, the median.
  TORCH_ARG(double, alpha);
  /// If above 1, inputs are [N, num_outputs] and the result is [num_outputs].
  TORCH_ARG(std::int64_t, num_outputs) = 1;

 public:
  void visit(OptionVisitor& v) {
    v("alpha", alpha_, internal::words::kAlpha);
    v("num_outputs", num_outputs_, OptionRole::kSize,
      internal::words::kNumOutputs);
  }
  Dimensions dimensions() const { return {Dimension::kOutput}; }
  void validate(const char* metric) const;
};

/// The error of MeanPinballLoss.
struct PinballError {
  static constexpr const char* kName = "PinballError";
  using Options = MeanPinballLossOptions;
  explicit PinballError(const Options& options) : alpha(options.alpha()) {}
  double operator()(double preds, double target) const {
    const double error = target - preds;
    return error >= 0 ? alpha * error : (alpha - 1) * error;
  }
  template <class T>
  std::optional<internal::regression::PlainSums> sums(
      const T* preds, const T* target, std::int64_t count) const {
    return internal::regression::error_sums(
        internal::regression::ErrorKind::kPinball, alpha, preds, target, count);
  }
  at::Tensor operator()(const at::Tensor& preds,
                        const at::Tensor& target) const;
  double alpha;
};
extern template class ErrorSums<PinballError>;

/// The mean pinball loss, or quantile loss: minimized by the target's quantile
/// `alpha`.
///
///     sum_i weight_i max(alpha e_i, (alpha - 1) e_i) / sum_i weight_i
///     with e_i = target_i - preds_i
///
/// update(preds, target, weight = 1), NaN and errors: see ErrorSums.
/// Result: 0-dim, or [num_outputs]; float64, 0 or more; NaN before any update.
/// State: both sums in float64, merged by addition.
/// Differentiable in preds and target.
///
/// Example:
///     MeanPinballLoss loss(/*alpha=*/0.9);
///     loss.update(preds, target);
///     double value = loss.compute().item<double>();
class MeanPinballLoss final
    : public MetricOf<MeanPinballLoss, ErrorSums<PinballError>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanPinballLoss";
  static constexpr MetricSummary kSummary{
      "Quantile (pinball) loss.",
      "[0, inf)",
      "",
      "pinball, quantile loss",
      R"(\frac{1}{N} \sum_n \max(\alpha (y_n - \hat y_n), (\alpha - 1)(y_n - \hat y_n)))",
      "Koenker and Bassett 1978"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MeanPinballLoss, ErrorSums<PinballError>,
                               at::Tensor>;

}  // namespace tally
