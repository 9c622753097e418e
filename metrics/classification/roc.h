#pragma once

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/classification/curves/point_limit.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kROCSummary{
    "False and true positive rates by threshold.",
    "[0, 1]",
    "",
    "roc curve, receiver operating characteristic",
    R"((FPR(t),\ TPR(t)))",
    "Fawcett 2006"};

}  // namespace internal

/// Points of ROC curves, by descending threshold, starting from (0, 0) at
/// threshold +infinity. All have the same shape.
struct RocCurve {
  at::Tensor fpr;
  at::Tensor tpr;
  at::Tensor thresholds;

  void visit(ResultParts& parts) {
    const Dimensions curve{Dimension::kClass, Dimension::kPoint};
    parts("fpr", fpr, curve)("tpr", tpr, curve);
    parts("thresholds", thresholds, curve);
  }
};

/// Options of BinaryROC.
struct BinaryROCOptions
    : PointLimitOptions<BinaryCurveOptions<BinaryROCOptions>,
                        BinaryROCOptions> {};

/// Options of MulticlassROC; the average is kNone, kMicro or kMacro.
struct MulticlassROCOptions
    : PointLimitOptions<
          AveragedCurveOptions<MulticlassCurveOptions, MulticlassROCOptions,
                               Average::kNone>,
          MulticlassROCOptions> {
  using PointLimitOptions::PointLimitOptions;
  void validate(const char* metric) const;
};

/// Options of MultilabelROC; the average is kNone, kMicro or kMacro.
struct MultilabelROCOptions
    : PointLimitOptions<
          AveragedCurveOptions<MultilabelCurveOptions, MultilabelROCOptions,
                               Average::kNone>,
          MultilabelROCOptions> {
  using PointLimitOptions::PointLimitOptions;
  void validate(const char* metric) const;
};

/// The ROC curve: the false and true positive rates if everything with at least
/// a threshold's score is predicted as positive.
///
///     FPR(t) = #{s_n >= t} / #n,  TPR(t) = #{s_p >= t} / #p
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...], the multiplicity of each
/// (default: 1).
///
/// Result: fpr, tpr and thresholds, each [K + 1] for K distinct scores or, with
/// thresholds, K of them; thresholds are probabilities (with kScores, scores),
/// +infinity first. With max_points, about as many of these points.
///
/// State: all scores, targets and weights, concatenated, many of them as counts
/// of equal scores (see keep_rows); with thresholds a
/// summed histogram, whose size does not depend on the data.
///
/// A rate without samples is NaN; everything is NaN before any update. NaN,
/// weights and invalid values: see BinaryCurve. Not differentiable.
/// Source: roc_curve of scikit-learn, with drop_intermediate=False.
///
/// Example:
///     BinaryROC roc(BinaryROCOptions().thresholds(100));
///     roc.update(at::rand({8}), at::randint(2, {8}, at::kLong));
///     at::Tensor tpr = roc.compute().tpr;
class BinaryROC final
    : public MetricOf<BinaryROC, BinaryCurve, RocCurve, BinaryROCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BinaryROC";
  static constexpr MetricSummary kSummary = internal::kROCSummary.binary();

  RocCurve evaluate(const State& state) const;
};

/// The ROC curve of each class against the rest.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1).
///
/// Result: as for BinaryROC, each [C, K + 1]; K is that of the class with the
/// most distinct scores, and rows of other classes are padded with NaN, which
/// thresholds otherwise contain only if a score of the class, or a weight, is
/// NaN. With kMicro, a single curve over the samples of all classes. With
/// kMacro, the mean of the curves, whose area is the mean of their areas: at
/// each false positive rate of a class, the mean true positive rate before and
/// after; thresholds are then NaN. Classes without samples, or without others,
/// are excluded.
///
/// Example:
///     MulticlassROC roc(MulticlassROCOptions(3).average(Average::kMacro));
class MulticlassROC final : public MetricOf<MulticlassROC, MulticlassCurve,
                                            RocCurve, MulticlassROCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MulticlassROC";
  static constexpr MetricSummary kSummary = internal::kROCSummary.multiclass();

  RocCurve evaluate(const State& state) const;
};

/// The ROC curve of each label.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: [L, K + 1],
/// or one curve, as in MulticlassROC.
///
/// Example:
///     MultilabelROC roc(5);
class MultilabelROC final : public MetricOf<MultilabelROC, MultilabelCurve,
                                            RocCurve, MultilabelROCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelROC";
  static constexpr MetricSummary kSummary = internal::kROCSummary.multilabel();

  RocCurve evaluate(const State& state) const;
};

extern template class MetricOf<BinaryROC, BinaryCurve, RocCurve,
                               BinaryROCOptions>;
extern template class MetricOf<MulticlassROC, MulticlassCurve, RocCurve,
                               MulticlassROCOptions>;
extern template class MetricOf<MultilabelROC, MultilabelCurve, RocCurve,
                               MultilabelROCOptions>;

}  // namespace tally
