#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kSpecificitySummary{
    "Fraction of actual negatives that are found.", "[0, 1]", "",
    "tnr, selectivity, true negative rate", R"(\frac{TN}{TN + FP})"};

}  // namespace internal

using BinarySpecificityOptions = BinaryRateOptions;
using MulticlassSpecificityOptions = MulticlassRateOptions;
using MultilabelSpecificityOptions = MultilabelRateOptions;

/// Fraction of targets that are 0 that are found: recall of 0.
///
///     tn / (tn + fp)
/// It is zero_division if every target is 1.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.recall_score with pos_label 0.
///
/// Example:
///     BinarySpecificity specificity;
///     specificity.update(preds, target);
///     at::Tensor value = specificity.compute();
class BinarySpecificity final
    : public MetricOf<BinarySpecificity, BinaryCounts, at::Tensor,
                      BinarySpecificityOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinarySpecificity";
  static constexpr MetricSummary kSummary =
      internal::kSpecificitySummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kSpecificityRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

/// Fraction of targets of other classes that are not predicted as the class.
///
///     tn / (tn + fp), per class or (micro) over all classes
/// Averages are over the classes that occur; a class that is the only target
/// contributes zero_division.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise prepends [N], in the order of the samples. State: that of
/// MulticlassCounts, summed, or kept per sample.
///
/// Not differentiable. As recall of the opposite of each class.
///
/// Example:
///     MulticlassSpecificity specificity(10);
///     specificity.update(preds, target);
///     at::Tensor value = specificity.compute();
class MulticlassSpecificity final
    : public MetricOf<MulticlassSpecificity, MulticlassCounts, at::Tensor,
                      MulticlassSpecificityOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassSpecificity";
  static constexpr MetricSummary kSummary =
      internal::kSpecificitySummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kSpecificityRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

/// Fraction of targets without the label that are found.
///
///     tn / (tn + fp), per label, per sample or (micro) over all labels
/// A label that is always set contributes zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone,
/// [L]; kSamplewise prepends [N], in the order of the samples. State: that of
/// MultilabelCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.recall_score of 1 - preds and 1 -
/// target, except that kWeighted weights by the positions with the label.
///
/// Example:
///     MultilabelSpecificity specificity(5);
///     specificity.update(preds, target);
///     at::Tensor value = specificity.compute();
class MultilabelSpecificity final
    : public MetricOf<MultilabelSpecificity, MultilabelCounts, at::Tensor,
                      MultilabelSpecificityOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelSpecificity";
  static constexpr MetricSummary kSummary =
      internal::kSpecificitySummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kSpecificityRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

extern template class MetricOf<BinarySpecificity, BinaryCounts, at::Tensor,
                               BinarySpecificityOptions>;
extern template class MetricOf<MulticlassSpecificity, MulticlassCounts,
                               at::Tensor, MulticlassSpecificityOptions>;
extern template class MetricOf<MultilabelSpecificity, MultilabelCounts,
                               at::Tensor, MultilabelSpecificityOptions>;

}  // namespace tally
