#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/states/joint_moments.h"

namespace tally {

/// The statistic of the targets that divides the error.
enum class Normalization {
  kMean,   ///< the absolute value of their mean
  kRange,  ///< the difference between the largest and the smallest
  kStd,    ///< their standard deviation, not corrected for bias
  kL2,     ///< the square root of the sum of their squares
};

template <>
struct EnumNames<Normalization> {
  static constexpr const char* kNames[] = {"mean", "range", "std", "l2"};
};

/// Options of NormalizedRootMeanSquaredError.
///
/// Example: `NormalizedRootMeanSquaredError nrmse(Normalization::kStd);`
struct NormalizedRootMeanSquaredErrorOptions {
  NormalizedRootMeanSquaredErrorOptions(
      Normalization normalization = Normalization::kMean)
      : normalization_(normalization) {}
  /// Default: kMean.
  TORCH_ARG(Normalization, normalization);
  /// If above 1, inputs are [N, num_outputs] and the result is [num_outputs].
  TORCH_ARG(std::int64_t, num_outputs) = 1;

 public:
  void visit(OptionVisitor& v) {
    // All except the range are functions of the moments in the state.
    v("normalization", normalization_,
      normalization_ == Normalization::kRange ? OptionRole::kState
                                              : OptionRole::kValue,
      "Statistic of the targets that divides the error.");
    v("num_outputs", num_outputs_, OptionRole::kSize,
      internal::words::kNumOutputs);
  }
  Dimensions dimensions() const { return {Dimension::kOutput}; }
  void validate(const char* metric) const;
};

namespace internal::regression {
template <>
struct KeepsRange<NormalizedRootMeanSquaredErrorOptions> {
  static bool of(const NormalizedRootMeanSquaredErrorOptions& options) {
    return options.normalization() == Normalization::kRange;
  }
};
}  // namespace internal::regression

/// The root of the mean squared error over the absolute mean, the range, the
/// standard deviation or the norm of the targets.
///
///     sqrt(sum_i w_i (p_i - t_i)^2 / sum_i w_i) / normalization
///
/// update(preds, target, weight = 1): of shape [N] or [N, 1], any real dtypes;
/// weight [N]. With num_outputs > 1: [N, num_outputs], each row is a sample.
/// Result: 0-dim, or [num_outputs]; float64, 0 or more. Infinite, or NaN
/// without errors, where the normalization is 0. NaN before any update. State:
/// see JointMoments, shared except with kRange, which additionally keeps the
/// (unweighted) range of the targets. NaN or infinity: propagates into its
/// output; NanPolicy::kIgnore ignores samples with a NaN. Errors:
/// c10::ValueError for shapes that differ or do not match num_outputs, for
/// weights below 0, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs.
/// Differentiable in preds and target, also through what divides the error;
/// equal smallest or largest targets share the gradient of the range. Where the
/// error is 0, so is the gradient.
///
/// Example:
///     NormalizedRootMeanSquaredError nrmse(Normalization::kRange);
///     nrmse.update(preds, target);
///     double value = nrmse.compute().item<double>();
class NormalizedRootMeanSquaredError final
    : public MetricOf<NormalizedRootMeanSquaredError, JointMoments, at::Tensor,
                      NormalizedRootMeanSquaredErrorOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "NormalizedRootMeanSquaredError";
  static constexpr MetricSummary kSummary{
      "Root mean squared error over the scale of the targets.", "[0, inf)", "",
      "nrmse", R"(\frac{\sqrt{\frac{1}{N} \sum_n (\hat y_n - y_n)^2}}{s(y)})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<NormalizedRootMeanSquaredError, JointMoments,
                               at::Tensor,
                               NormalizedRootMeanSquaredErrorOptions>;

}  // namespace tally
