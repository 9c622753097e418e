#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/classification/curves/threshold_choice.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of BinaryOptimalThreshold and its kin: those of `Curve`, and what
/// the threshold is chosen by.
template <template <class> class Curve>
class OptimalThresholdOptions : public Curve<OptimalThresholdOptions<Curve>> {
  using Self = OptimalThresholdOptions;
  using Base = Curve<OptimalThresholdOptions<Curve>>;

 public:
  using Base::Base;
  OptimalThresholdOptions() = default;

  /// What is best. Default: the largest F1 score.
  TALLY_INHERITED_ARG(Self, ThresholdCriterion,
                      criterion) = ThresholdCriterion::kF1;
  /// Under kCost, what a false positive costs. Default: 1.
  TALLY_INHERITED_ARG(Self, double, false_positive_cost) = 1;
  /// Under kCost, what a false negative costs. Default: 1.
  TALLY_INHERITED_ARG(Self, double, false_negative_cost) = 1;

 public:
  void visit(OptionVisitor& v) {
    Base::visit(v);
    v("criterion", criterion_, OptionRole::kValue,
      "Criterion that chooses the threshold.");
    v("false_positive_cost", false_positive_cost_, OptionRole::kValue,
      "Cost of a false positive, for criterion=cost.");
    v("false_negative_cost", false_negative_cost_, OptionRole::kValue,
      "Cost of a false negative, for criterion=cost.");
  }
  void validate(const char* metric) const {
    Base::validate(metric);
    internal::classification::check_cost(metric, "false_positive_cost",
                                         false_positive_cost_);
    internal::classification::check_cost(metric, "false_negative_cost",
                                         false_negative_cost_);
  }
  std::vector<std::string> without_effect() const {
    if (criterion_ == ThresholdCriterion::kCost ||
        (false_positive_cost_ == 1 && false_negative_cost_ == 1)) {
      return {};
    }
    return {"costs have no effect without criterion cost"};
  }
};

using BinaryOptimalThresholdOptions =
    OptimalThresholdOptions<BinaryCurveOptions>;
using MulticlassOptimalThresholdOptions =
    OptimalThresholdOptions<MulticlassCurveOptions>;
using MultilabelOptimalThresholdOptions =
    OptimalThresholdOptions<MultilabelCurveOptions>;

namespace internal {

inline constexpr MetricSummary kOptimalThresholdSummary{
    "Threshold of the best F1, Youden's J, corner or cost, and rates there.",
    "any", "",
    "best f1, optimal cutoff, youden index, cost-sensitive threshold",
    R"(\arg\max_t F_1(t))"};

namespace classification {

/// The threshold that a criterion is best at.
template <class Derived, class Curve, class Options>
class OptimalThresholdMetric
    : public MetricOf<Derived, Curve, OptimalThreshold, Options> {
 public:
  using MetricOf<Derived, Curve, OptimalThreshold, Options>::MetricOf;

  OptimalThreshold evaluate(const CurveState& state) const {
    const Options& options = this->options();
    return optimal_thresholds(
        {state, options}, {options.criterion(), options.false_positive_cost(),
                           options.false_negative_cost()});
  }
};

}  // namespace classification
}  // namespace internal

/// The threshold on scores at which a criterion is best, and precision, recall
/// and specificity of the predictions that score at least as much.
///
///     argmax F1(t), argmax TPR(t) - FPR(t), argmin |(FPR(t), 1 - TPR(t))|, or
///     argmin (c_fp FP(t) + c_fn FN(t)) / N, over the thresholds of the curve
///
/// Apply the threshold to other data, by metrics of decisions: on the rows that
/// it was chosen on, the rates are better than elsewhere.
/// Intervals choose it anew in each replicate, and say so
/// (IntervalFlag::kSelected).
///
/// update(preds, target, weight = {}): scores [N, ...], floating point, 0 and 1
/// [N, ...] of any real dtype, weights [N, ...] (default: 1).
///
/// Result: threshold, criterion (its value: F1, J, the distance, or the mean
/// cost of a sample), precision, recall and specificity, 0-dim. The threshold
/// is a probability, one of the given ones or a score; of equally good ones the
/// highest. It is +infinity, and precision NaN, if it is best to predict
/// nothing as positive.
///
/// State: all samples, concatenated; with thresholds a summed histogram.
///
/// All are NaN before any update; under kF1 without positives, under kYouden
/// and kCorner unless both classes occur. NaN, weights and invalid values: see
/// BinaryCurve. Throws c10::ValueError for costs that are negative or not
/// finite. Not differentiable. Source: own definition, on the points of
/// roc_curve (J: Youden 1950).
///
/// Example:
///     BinaryOptimalThreshold metric(
///         BinaryOptimalThresholdOptions().criterion(
///             ThresholdCriterion::kYouden));
///     metric.update(at::rand({8}), at::randint(2, {8}, at::kLong));
///     double threshold = metric.compute().threshold.item<double>();
///     BinaryF1Score f1;  // of other data
///     f1.update(at::rand({8}).ge(threshold), at::randint(2, {8}, at::kLong));
class BinaryOptimalThreshold final
    : public internal::classification::OptimalThresholdMetric<
          BinaryOptimalThreshold, BinaryCurve, BinaryOptimalThresholdOptions> {
 public:
  using OptimalThresholdMetric::OptimalThresholdMetric;
  static constexpr const char* kName = "BinaryOptimalThreshold";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kOptimalThresholdSummary.binary();
};

/// BinaryOptimalThreshold of each class against the rest.
///
/// update(preds, target, weight = {}): scores [N, C, ...], floating point,
/// classes [N, ...] of any real dtype, weights [N, ...] (default: 1). Result:
/// the same parts, [C]. NaN and weights as in MulticlassAUROC.
///
/// Example:
///     MulticlassOptimalThreshold metric(3);
class MulticlassOptimalThreshold final
    : public internal::classification::OptimalThresholdMetric<
          MulticlassOptimalThreshold, MulticlassCurve,
          MulticlassOptimalThresholdOptions> {
 public:
  using OptimalThresholdMetric::OptimalThresholdMetric;
  static constexpr const char* kName = "MulticlassOptimalThreshold";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kOptimalThresholdSummary.multiclass();
};

/// BinaryOptimalThreshold of each label.
///
/// update(preds, target, weight = {}): scores [N, L, ...], floating point, 0
/// and 1 of the same shape, weights [N, ...] (default: 1). Result: the same
/// parts, [L].
///
/// Example:
///     MultilabelOptimalThreshold metric(5);
class MultilabelOptimalThreshold final
    : public internal::classification::OptimalThresholdMetric<
          MultilabelOptimalThreshold, MultilabelCurve,
          MultilabelOptimalThresholdOptions> {
 public:
  using OptimalThresholdMetric::OptimalThresholdMetric;
  static constexpr const char* kName = "MultilabelOptimalThreshold";
  static constexpr bool kIsSelected = true;
  static constexpr MetricSummary kSummary =
      internal::kOptimalThresholdSummary.multilabel();
};

extern template class MetricOf<BinaryOptimalThreshold, BinaryCurve,
                               OptimalThreshold, BinaryOptimalThresholdOptions>;
extern template class MetricOf<MulticlassOptimalThreshold, MulticlassCurve,
                               OptimalThreshold,
                               MulticlassOptimalThresholdOptions>;
extern template class MetricOf<MultilabelOptimalThreshold, MultilabelCurve,
                               OptimalThreshold,
                               MultilabelOptimalThresholdOptions>;

}  // namespace tally
