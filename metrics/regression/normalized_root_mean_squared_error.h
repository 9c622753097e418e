#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/states/joint_moments.h"

namespace tally {

/// What NormalizedRootMeanSquaredError divides by, of the targets.
enum class Normalization {
  kMean,   ///< their mean, with its sign
  kRange,  ///< the difference of the largest and the smallest
  kStd,    ///< their standard deviation, not corrected for bias
  kL2,     ///< the root of the sum of their squares
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
  /// With more than one, inputs are [N, num_outputs], and so many values come
  /// out. Default: 1.
  TORCH_ARG(std::int64_t, num_outputs) = 1;

 public:
  void visit(OptionVisitor& v) {
    // All but the range are functions of moments that are there anyway.
    v("normalization", normalization_,
      normalization_ == Normalization::kRange ? OptionRole::kState
                                              : OptionRole::kValue);
    v("num_outputs", num_outputs_, OptionRole::kSize);
  }
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

/// The root of the mean squared error over the mean, the range, the standard
/// deviation or the norm of the targets.
///
///     sqrt(sum_i w_i (p_i - t_i)^2 / sum_i w_i) / normalization
///
/// update(preds, target, weight = 1): of shape [N] or [N, 1], any real dtypes;
/// weight [N]. With num_outputs > 1: [N, num_outputs], each row is a sample.
/// Result: 0-dim, or [num_outputs]; float64. Infinite, or NaN without errors,
/// where the normalization is 0. NaN before any update.
/// State: see JointMoments, shared except with kRange, which keeps the range of
/// the targets (whatever their weights) besides. NaN or infinity: propagates
/// into its output; NanPolicy::kIgnore leaves out samples with a NaN. Errors:
/// c10::ValueError for shapes that differ or do not fit num_outputs, for
/// weights below 0, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs.
/// Differentiable by preds and target, but the range is a constant. Where the
/// error is 0 so is the gradient.
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
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
