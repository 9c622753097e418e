#pragma once

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kEERSummary{
    "Rate at which false positives and false negatives are equal.", "[0, 1]",
    "", "equal error rate, crossover error rate", R"(FPR(t) = FNR(t))"};

}  // namespace internal

/// Options of BinaryEER.
struct BinaryEEROptions : BinaryCurveOptions<BinaryEEROptions> {};

/// Options of MulticlassEER.
struct MulticlassEEROptions
    : AveragedCurveOptions<MulticlassCurveOptions, MulticlassEEROptions,
                           Average::kNone> {
  using AveragedCurveOptions::AveragedCurveOptions;
};

/// Options of MultilabelEER.
struct MultilabelEEROptions
    : AveragedCurveOptions<MultilabelCurveOptions, MultilabelEEROptions,
                           Average::kNone> {
  using AveragedCurveOptions::AveragedCurveOptions;
};

/// The equal error rate: the point of the ROC curve where the false positive
/// rate equals the false negative rate.
///
///     EER = FPR where FPR = 1 - TPR, interpolated linearly between the points
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...], the multiplicity of each
/// (default: 1). Result: 0-dim, in [0, 1].
///
/// State: all scores, targets and weights, concatenated, many of them as counts
/// of equal scores (see keep_rows); with thresholds a
/// summed histogram, and the curve is that of its bins.
///
/// NaN before any update and unless both classes occur. NaN, weights and
/// invalid values: see BinaryCurve. Not differentiable.
///
/// Source: the usual definition (1 - TPR = FPR by interpolation).
///
/// Example:
///     BinaryEER rate(BinaryEEROptions().input(ScoreKind::kLogits));
///     rate.update(at::randn({8}), at::randint(2, {8}, at::kLong));
class BinaryEER final
    : public MetricOf<BinaryEER, BinaryCurve, at::Tensor, BinaryEEROptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BinaryEER";
  static constexpr MetricSummary kSummary = internal::kEERSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// BinaryEER of each class against the rest.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1). Result:
/// [C], or 0-dim with an average, over the classes that have both samples and
/// others; other classes are NaN. NaN and weights as in MulticlassAUROC.
///
/// Example:
///     MulticlassEER rates(3);
class MulticlassEER final : public MetricOf<MulticlassEER, MulticlassCurve,
                                            at::Tensor, MulticlassEEROptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MulticlassEER";
  static constexpr MetricSummary kSummary = internal::kEERSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// BinaryEER of each label.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: [L], or
/// 0-dim with an average, over the labels that have both classes; the others
/// are NaN.
///
/// Example:
///     MultilabelEER rate(MultilabelEEROptions(3).average(Average::kMacro));
class MultilabelEER final : public MetricOf<MultilabelEER, MultilabelCurve,
                                            at::Tensor, MultilabelEEROptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelEER";
  static constexpr MetricSummary kSummary = internal::kEERSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinaryEER, BinaryCurve, at::Tensor,
                               BinaryEEROptions>;
extern template class MetricOf<MulticlassEER, MulticlassCurve, at::Tensor,
                               MulticlassEEROptions>;
extern template class MetricOf<MultilabelEER, MultilabelCurve, at::Tensor,
                               MultilabelEEROptions>;

}  // namespace tally
