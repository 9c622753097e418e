#pragma once

#include <limits>

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/classification/curves/point_limit.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kPrecisionRecallCurveSummary{
    "Precision and recall by threshold.", "[0, 1]", "",
    "pr curve, precision recall", R"((P(t),\ R(t)))"};

}  // namespace internal

/// Points of precision-recall curves, by ascending threshold; the last one is
/// (1, 0), without a threshold.
struct PrecisionRecall {
  at::Tensor precision;
  at::Tensor recall;
  at::Tensor thresholds;

  void visit(ResultParts& parts) {
    const Dimensions curve{Dimension::kClass, Dimension::kPoint};
    parts("precision", precision, curve)("recall", recall, curve);
    parts("thresholds", thresholds, curve);
  }
};

/// `Base`, how many points are returned, and the precision if nothing is
/// predicted as positive.
template <class Base, class Derived>
class ZeroDivisionOptions : public PointLimitOptions<Base, Derived> {
  using Limited = PointLimitOptions<Base, Derived>;

 public:
  using Limited::Limited;

  /// The precision at thresholds that no score reaches: 0, 1 or NaN.
  /// Default: NaN.
  TALLY_INHERITED_ARG(Derived, double,
                      zero_division) = std::numeric_limits<double>::quiet_NaN();

 public:
  void visit(OptionVisitor& v) {
    Limited::visit(v);
    v("zero_division", zero_division_, OptionRole::kValue,
      internal::words::kZeroDivision);
  }
  void validate(const char* metric) const {
    Limited::validate(metric);
    TORCH_CHECK_VALUE(!(zero_division_ < 0 || zero_division_ > 1), metric,
                      ": expected zero_division in [0, 1] or NaN, got ",
                      zero_division_);
  }
};

/// Options of BinaryPrecisionRecallCurve.
struct BinaryPrecisionRecallCurveOptions
    : ZeroDivisionOptions<BinaryCurveOptions<BinaryPrecisionRecallCurveOptions>,
                          BinaryPrecisionRecallCurveOptions> {};

/// Options of MulticlassPrecisionRecallCurve; the average is kNone, kMicro or
/// kMacro.
struct MulticlassPrecisionRecallCurveOptions
    : ZeroDivisionOptions<
          AveragedCurveOptions<MulticlassCurveOptions,
                               MulticlassPrecisionRecallCurveOptions,
                               Average::kNone>,
          MulticlassPrecisionRecallCurveOptions> {
  using ZeroDivisionOptions::ZeroDivisionOptions;
  void validate(const char* metric) const;
};

/// Options of MultilabelPrecisionRecallCurve; the average is kNone, kMicro or
/// kMacro.
struct MultilabelPrecisionRecallCurveOptions
    : ZeroDivisionOptions<
          AveragedCurveOptions<MultilabelCurveOptions,
                               MultilabelPrecisionRecallCurveOptions,
                               Average::kNone>,
          MultilabelPrecisionRecallCurveOptions> {
  using ZeroDivisionOptions::ZeroDivisionOptions;
  void validate(const char* metric) const;
};

/// Precision and recall if everything with at least a threshold's score is
/// predicted as positive.
///
///     P(t) = #{s_p >= t} / #{s >= t},  R(t) = #{s_p >= t} / #p
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...], the multiplicity of each
/// (default: 1).
///
/// Result: precision and recall [K + 1] and thresholds [K] for K distinct
/// scores or, with thresholds, K of them; thresholds are probabilities (with
/// kScores, scores). With max_points, about as many of these points.
///
/// State: all scores, targets and weights, concatenated, many of them as counts
/// of equal scores (see keep_rows); with thresholds a
/// summed histogram, whose size does not depend on the data.
///
/// Recall is NaN without positives; everything except the last point is NaN
/// before any update, with a NaN in preds or weight, or with an infinite
/// weight; with kIgnore samples with a NaN are ignored, like those with weight
/// 0. Weights below 0 and probabilities outside [0, 1] are a c10::ValueError.
/// Not differentiable.
/// Source: precision_recall_curve of scikit-learn.
///
/// Example:
///     BinaryPrecisionRecallCurve curve;
///     curve.update(at::rand({8}), at::randint(2, {8}, at::kLong));
///     auto [precision, recall, thresholds] = curve.compute();
class BinaryPrecisionRecallCurve final
    : public MetricOf<BinaryPrecisionRecallCurve, BinaryCurve, PrecisionRecall,
                      BinaryPrecisionRecallCurveOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BinaryPrecisionRecallCurve";
  static constexpr MetricSummary kSummary =
      internal::kPrecisionRecallCurveSummary.binary();

  PrecisionRecall evaluate(const State& state) const;
};

/// The precision-recall curve of each class against the rest.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1).
///
/// Result: as for BinaryPrecisionRecallCurve, [C, K + 1] and [C, K]; K is that
/// of the class with the most distinct scores, and rows of other classes are
/// padded with NaN, which thresholds otherwise contain only if a score of the
/// class, or a weight, is NaN. With kMicro, a single curve over the samples of
/// all classes. With kMacro, the classes' mean precision at each recall of a
/// class, where the precision is that of the highest threshold that reaches the
/// recall: the area under the steps is the mean of the classes' average
/// precision; thresholds are then NaN. Classes that do not occur are excluded.
///
/// Example:
///     MulticlassPrecisionRecallCurve curve(3);
class MulticlassPrecisionRecallCurve final
    : public MetricOf<MulticlassPrecisionRecallCurve, MulticlassCurve,
                      PrecisionRecall, MulticlassPrecisionRecallCurveOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MulticlassPrecisionRecallCurve";
  static constexpr MetricSummary kSummary =
      internal::kPrecisionRecallCurveSummary.multiclass();

  PrecisionRecall evaluate(const State& state) const;
};

/// The precision-recall curve of each label.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: [L, K + 1]
/// and [L, K], or one curve, as in MulticlassPrecisionRecallCurve.
///
/// Example:
///     MultilabelPrecisionRecallCurve curve(5);
class MultilabelPrecisionRecallCurve final
    : public MetricOf<MultilabelPrecisionRecallCurve, MultilabelCurve,
                      PrecisionRecall, MultilabelPrecisionRecallCurveOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelPrecisionRecallCurve";
  static constexpr MetricSummary kSummary =
      internal::kPrecisionRecallCurveSummary.multilabel();

  PrecisionRecall evaluate(const State& state) const;
};

extern template class MetricOf<BinaryPrecisionRecallCurve, BinaryCurve,
                               PrecisionRecall,
                               BinaryPrecisionRecallCurveOptions>;
extern template class MetricOf<MulticlassPrecisionRecallCurve, MulticlassCurve,
                               PrecisionRecall,
                               MulticlassPrecisionRecallCurveOptions>;
extern template class MetricOf<MultilabelPrecisionRecallCurve, MultilabelCurve,
                               PrecisionRecall,
                               MultilabelPrecisionRecallCurveOptions>;

}  // namespace tally
