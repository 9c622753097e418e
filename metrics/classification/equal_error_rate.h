#pragma once

#include "tally/metrics/classification/curve.h"
#include "tally/metrics/metric_of.h"

namespace tally {

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

/// The equal error rate: where the ROC curve has as many false positives among
/// the negatives as false negatives among the positives.
///
///     EER = FPR where FPR = 1 - TPR, on straight lines between the points
///
/// update(preds, target): scores, floating point, and 0 or 1 of an integer
/// dtype or bool, of the same shape [N, ...]. Result: 0-dim, in [0, 1].
///
/// State: all scores and targets, concatenated; with thresholds a histogram,
/// summed, of whose buckets the curve then is.
///
/// NaN before any update and unless both classes occur. A NaN in preds makes
/// the result NaN; with kIgnore that sample does not count. With thresholds,
/// probabilities outside [0, 1] are a c10::ValueError. Not differentiable.
///
/// Source: own definition, the usual one (1 - TPR = FPR by interpolation).
///
/// Example:
///     BinaryEER rate(BinaryEEROptions().input(ScoreKind::kLogits));
///     rate.update(at::randn({8}), at::randint(2, {8}, at::kLong));
class BinaryEER final
    : public MetricOf<BinaryEER, BinaryCurve, at::Tensor, BinaryEEROptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BinaryEER";
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// BinaryEER of each class against the rest.
///
/// update(preds, target): scores [N, C, ...], floating point, and classes
/// [N, ...] of an integer dtype. Result: [C], or 0-dim with an average, over
/// the classes that have both samples and others; the others are NaN. NaN among
/// the scores as in MulticlassAUROC.
///
/// Example:
///     MulticlassEER rates(3);
class MulticlassEER final : public MetricOf<MulticlassEER, MulticlassCurve,
                                            at::Tensor, MulticlassEEROptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MulticlassEER";
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// BinaryEER of each label.
///
/// update(preds, target): scores [N, L, ...], floating point, and 0 or 1 of the
/// same shape. Result: [L], or 0-dim with an average, over the labels that have
/// both classes; the others are NaN.
///
/// Example:
///     MultilabelEER rate(MultilabelEEROptions(3).average(Average::kMacro));
class MultilabelEER final : public MetricOf<MultilabelEER, MultilabelCurve,
                                            at::Tensor, MultilabelEEROptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelEER";
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
