#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kJaccardIndexSummary{
    "Intersection over union of predictions and targets.",
    "[0, 1]",
    "",
    "iou, jaccard, intersection over union, miou",
    R"(\frac{TP}{TP + FP + FN})",
    "Jaccard 1912"};

}  // namespace internal

using BinaryJaccardIndexOptions = BinaryRateOptions;
using MulticlassJaccardIndexOptions = MulticlassRateOptions;
using MultilabelJaccardIndexOptions = MultilabelRateOptions;

/// The intersection over the union of predictions and targets that are 1.
///
///     tp / (tp + fp + fn)
/// It is zero_division if neither is ever 1.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.jaccard_score.
///
/// Example:
///     BinaryJaccardIndex jaccard;
///     jaccard.update(preds, target);
///     at::Tensor value = jaccard.compute();
class BinaryJaccardIndex final
    : public MetricOf<BinaryJaccardIndex, BinaryCounts, at::Tensor,
                      BinaryJaccardIndexOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryJaccardIndex";
  static constexpr MetricSummary kSummary =
      internal::kJaccardIndexSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kJaccardRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

/// The intersection over the union of predictions and targets of a class.
///
///     tp / (tp + fp + fn), per class or (micro) over all classes
/// Averages are over the classes that occur.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise prepends [N], in the order of the samples. State: that of
/// MulticlassCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.jaccard_score. Computed from three
/// counts per class, not a confusion matrix.
///
/// Example:
///     MulticlassJaccardIndex jaccard(10);
///     jaccard.update(preds, target);
///     at::Tensor value = jaccard.compute();
class MulticlassJaccardIndex final
    : public MetricOf<MulticlassJaccardIndex, MulticlassCounts, at::Tensor,
                      MulticlassJaccardIndexOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassJaccardIndex";
  static constexpr MetricSummary kSummary =
      internal::kJaccardIndexSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kJaccardRate;

  at::Tensor evaluate(const State& state) const;
};

/// The intersection over the union of predictions and targets of a label.
///
///     tp / (tp + fp + fn), per label, per sample or (micro) over all labels
/// A label that does not occur contributes zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone,
/// [L]; kSamplewise prepends [N], in the order of the samples. State: that of
/// MultilabelCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.jaccard_score.
///
/// Example:
///     MultilabelJaccardIndex jaccard(5);
///     jaccard.update(preds, target);
///     at::Tensor value = jaccard.compute();
class MultilabelJaccardIndex final
    : public MetricOf<MultilabelJaccardIndex, MultilabelCounts, at::Tensor,
                      MultilabelJaccardIndexOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelJaccardIndex";
  static constexpr MetricSummary kSummary =
      internal::kJaccardIndexSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kJaccardRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

extern template class MetricOf<BinaryJaccardIndex, BinaryCounts, at::Tensor,
                               BinaryJaccardIndexOptions>;
extern template class MetricOf<MulticlassJaccardIndex, MulticlassCounts,
                               at::Tensor, MulticlassJaccardIndexOptions>;
extern template class MetricOf<MultilabelJaccardIndex, MultilabelCounts,
                               at::Tensor, MultilabelJaccardIndexOptions>;

}  // namespace tally
