#pragma once

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kAUROCBoundsSummary{
    "Area under the ROC curve with thresholds, and bounds of the exact one.",
    "[0, 1]", "", "auroc bounds, auc bounds, discretization error of the auc",
    R"(\frac{\#\{b_p > b_n\} + \{0, 1\} \#\{b_p = b_n\}}{\#p\, \#n})"};
inline constexpr MetricSummary kAveragePrecisionBoundsSummary{
    "Average precision with thresholds, and bounds of the exact one.", "[0, 1]",
    "", "ap bounds, auprc bounds, discretization error of average precision",
    R"(\min, \max \sum_k (R_k - R_{k-1}) P_k)"};

}  // namespace internal

/// The value of binned scores, and the least and the greatest that the scores
/// in these bins may have; of each class, or averaged.
struct AreaBounds {
  at::Tensor value;
  at::Tensor lower;
  at::Tensor upper;

  void visit(ResultParts& parts) {
    parts("value", value)("lower", lower)("upper", upper);
  }
};

/// Options of BinaryAUROCBounds and BinaryAveragePrecisionBounds.
struct BinaryAreaBoundsOptions : BinaryCurveOptions<BinaryAreaBoundsOptions> {};

/// Options of MulticlassAUROCBounds and MulticlassAveragePrecisionBounds.
struct MulticlassAreaBoundsOptions
    : AveragedCurveOptions<MulticlassCurveOptions, MulticlassAreaBoundsOptions,
                           Average::kMacro> {
  using AveragedCurveOptions::AveragedCurveOptions;
};

/// Options of MultilabelAUROCBounds and MultilabelAveragePrecisionBounds.
struct MultilabelAreaBoundsOptions
    : AveragedCurveOptions<MultilabelCurveOptions, MultilabelAreaBoundsOptions,
                           Average::kMacro> {
  using AveragedCurveOptions::AveragedCurveOptions;
};

/// The area under the ROC curve with thresholds, as BinaryAUROC has it, and
/// bounds of the exact area of the same scores: a positive and a negative that
/// share a bin may be in any order. With bins b,
///
///     lower = #{b_p > b_n} / (#p * #n)
///     upper = (#{b_p > b_n} + #{b_p = b_n}) / (#p * #n)
///
/// and the value is in their middle. Some scores in these bins have the bounds
/// as their area. Without thresholds all three are the exact area.
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...], the multiplicity of each
/// (default: 1). Result: value, lower and upper, 0-dim, in [0, 1].
///
/// State: that of BinaryAUROC, with which it is shared in a collection.
///
/// NaN before any update and unless both classes occur. NaN, weights and
/// invalid values: see BinaryCurve. Not differentiable. Source: own definition.
///
/// Example:
///     BinaryAUROCBounds auroc(BinaryAreaBoundsOptions().thresholds(200));
///     auroc.update(at::rand({8}), at::randint(2, {8}, at::kLong));
///     auto [value, lower, upper] = auroc.compute();
class BinaryAUROCBounds final
    : public MetricOf<BinaryAUROCBounds, BinaryCurve, AreaBounds,
                      BinaryAreaBoundsOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BinaryAUROCBounds";
  static constexpr MetricSummary kSummary =
      internal::kAUROCBoundsSummary.binary();

  AreaBounds evaluate(const State& state) const;
};

/// BinaryAUROCBounds of each class against the rest, averaged: bounds of the
/// average.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1). Result:
/// value, lower and upper, 0-dim, with kNone [C]. State, averages, NaN and
/// errors as in MulticlassAUROC.
///
/// Example:
///     MulticlassAUROCBounds auroc(
///         MulticlassAreaBoundsOptions(3).thresholds(200));
class MulticlassAUROCBounds final
    : public MetricOf<MulticlassAUROCBounds, MulticlassCurve, AreaBounds,
                      MulticlassAreaBoundsOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MulticlassAUROCBounds";
  static constexpr MetricSummary kSummary =
      internal::kAUROCBoundsSummary.multiclass();

  AreaBounds evaluate(const State& state) const;
};

/// BinaryAUROCBounds of each label, averaged: bounds of the average.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: value, lower
/// and upper, 0-dim, with kNone [L]. State, averages, NaN and errors as in
/// MultilabelAUROC.
///
/// Example:
///     MultilabelAUROCBounds auroc(
///         MultilabelAreaBoundsOptions(5).thresholds(200));
class MultilabelAUROCBounds final
    : public MetricOf<MultilabelAUROCBounds, MultilabelCurve, AreaBounds,
                      MultilabelAreaBoundsOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelAUROCBounds";
  static constexpr MetricSummary kSummary =
      internal::kAUROCBoundsSummary.multilabel();

  AreaBounds evaluate(const State& state) const;
};

/// Average precision with thresholds, as BinaryAveragePrecision has it, and
/// bounds of the exact one of the same scores. In each bin, with TP and FP
/// before it, p positives and n negatives in it, the sum of the precisions at
/// its positives is least where they come one by one behind the negatives, and
/// greatest where they come together before them:
///
///     lower: sum for k from 1 to p of (TP + k) / (TP + k + FP + n)
///     upper: p * (TP + p) / (TP + p + FP)
///
/// Some scores in these bins have the bounds as their average precision; with
/// weights, whose parts are not known, lower is that of ever smaller ones, p -
/// (FP + n) * ln((TP + p + FP + n) / (TP + FP + n)). Without thresholds all
/// three are the exact one.
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...], the multiplicity of each
/// (default: 1). Result: value, lower and upper, 0-dim, in [0, 1].
///
/// State: that of BinaryAveragePrecision, with which it is shared in a
/// collection.
///
/// NaN before any update and without positives. NaN, weights and invalid
/// values: see BinaryCurve. Not differentiable. Source: own definition.
///
/// Example:
///     BinaryAveragePrecisionBounds precision(
///         BinaryAreaBoundsOptions().thresholds(200));
class BinaryAveragePrecisionBounds final
    : public MetricOf<BinaryAveragePrecisionBounds, BinaryCurve, AreaBounds,
                      BinaryAreaBoundsOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BinaryAveragePrecisionBounds";
  static constexpr MetricSummary kSummary =
      internal::kAveragePrecisionBoundsSummary.binary();

  AreaBounds evaluate(const State& state) const;
};

/// BinaryAveragePrecisionBounds of each class against the rest, averaged:
/// bounds of the average.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1). Result:
/// value, lower and upper, 0-dim, with kNone [C]. State, averages, NaN and
/// errors as in MulticlassAveragePrecision.
///
/// Example:
///     MulticlassAveragePrecisionBounds precision(
///         MulticlassAreaBoundsOptions(3).thresholds(200));
class MulticlassAveragePrecisionBounds final
    : public MetricOf<MulticlassAveragePrecisionBounds, MulticlassCurve,
                      AreaBounds, MulticlassAreaBoundsOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MulticlassAveragePrecisionBounds";
  static constexpr MetricSummary kSummary =
      internal::kAveragePrecisionBoundsSummary.multiclass();

  AreaBounds evaluate(const State& state) const;
};

/// BinaryAveragePrecisionBounds of each label, averaged: bounds of the average.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: value, lower
/// and upper, 0-dim, with kNone [L]. State, averages, NaN and errors as in
/// MultilabelAveragePrecision.
///
/// Example:
///     MultilabelAveragePrecisionBounds precision(
///         MultilabelAreaBoundsOptions(5).thresholds(200));
class MultilabelAveragePrecisionBounds final
    : public MetricOf<MultilabelAveragePrecisionBounds, MultilabelCurve,
                      AreaBounds, MultilabelAreaBoundsOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelAveragePrecisionBounds";
  static constexpr MetricSummary kSummary =
      internal::kAveragePrecisionBoundsSummary.multilabel();

  AreaBounds evaluate(const State& state) const;
};

extern template class MetricOf<BinaryAUROCBounds, BinaryCurve, AreaBounds,
                               BinaryAreaBoundsOptions>;
extern template class MetricOf<MulticlassAUROCBounds, MulticlassCurve,
                               AreaBounds, MulticlassAreaBoundsOptions>;
extern template class MetricOf<MultilabelAUROCBounds, MultilabelCurve,
                               AreaBounds, MultilabelAreaBoundsOptions>;
extern template class MetricOf<BinaryAveragePrecisionBounds, BinaryCurve,
                               AreaBounds, BinaryAreaBoundsOptions>;
extern template class MetricOf<MulticlassAveragePrecisionBounds,
                               MulticlassCurve, AreaBounds,
                               MulticlassAreaBoundsOptions>;
extern template class MetricOf<MultilabelAveragePrecisionBounds,
                               MultilabelCurve, AreaBounds,
                               MultilabelAreaBoundsOptions>;

}  // namespace tally
