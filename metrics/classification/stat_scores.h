#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kStatScoresSummary{
    "Counts of true and false positives and negatives, and support.", "counts",
    "",
    "confusion counts, tp fp tn fn, true positives, false positives, true "
    "negatives, false negatives",
    R"(TP,\ FP,\ TN,\ FN,\ TP + FN)"};

}  // namespace internal
namespace internal::classification {

/// These, of which each element has the five numbers.
inline Dimensions with_counts(Dimensions dimensions) {
  dimensions.push_back(Dimension::kCount);
  return dimensions;
}

}  // namespace internal::classification

/// Numbers of true and false positives, true and false negatives, and targets
/// that are 1.
///
///     tp, fp, tn, fn, tp + fn
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: int64, or float64 for sums of weights and with NaN: [5] or, with
/// kSamplewise, [N, 5]. State: that of BinaryCounts, summed, or kept per
/// sample. Without counted positions it is 0.
///
/// Not differentiable.
///
/// Example:
///     BinaryStatScores scores;
///     scores.update(preds, target);
///     at::Tensor value = scores.compute();
class BinaryStatScores final
    : public MetricOf<BinaryStatScores, BinaryCounts, at::Tensor,
                      BinaryStatScoresOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryStatScores";
  static constexpr MetricSummary kSummary =
      internal::kStatScoresSummary.binary();

  at::Tensor evaluate(const State& state) const;
  Dimensions dimensions() const override {
    return internal::classification::with_counts(MetricOf::dimensions());
  }
};

/// Numbers of true and false positives, true and false negatives, and targets
/// of each class.
///
///     tp, fp, tn, fn, tp + fn
/// Averages apply to each of the five over all classes.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: int64, or float64 for sums of weights, for averages except micro,
/// and with NaN: [5] or, with Average::kNone, [C, 5]; kSamplewise prepends [N].
/// State: that of MulticlassCounts, summed, or kept per sample. Without counted
/// positions it is 0.
///
/// Not differentiable.
///
/// Example:
///     MulticlassStatScores scores(10);
///     scores.update(preds, target);
///     at::Tensor value = scores.compute();
class MulticlassStatScores final
    : public MetricOf<MulticlassStatScores, MulticlassCounts, at::Tensor,
                      MulticlassStatScoresOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassStatScores";
  static constexpr MetricSummary kSummary =
      internal::kStatScoresSummary.multiclass();

  at::Tensor evaluate(const State& state) const;
  Dimensions dimensions() const override {
    return internal::classification::with_counts(MetricOf::dimensions());
  }
};

/// Numbers of true and false positives, true and false negatives, and targets
/// with each label.
///
///     tp, fp, tn, fn, tp + fn
/// Averages apply to each of the five over all labels.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: int64, or float64 for sums of weights, for averages except micro,
/// and with NaN: [5] or, with Average::kNone, [L, 5]; kSamplewise
/// prepends [N]. State: that of MultilabelCounts, summed, or kept per sample.
/// Without counted positions it is 0.
///
/// Not differentiable.
///
/// Example:
///     MultilabelStatScores scores(5);
///     scores.update(preds, target);
///     at::Tensor value = scores.compute();
class MultilabelStatScores final
    : public MetricOf<MultilabelStatScores, MultilabelCounts, at::Tensor,
                      MultilabelStatScoresOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelStatScores";
  static constexpr MetricSummary kSummary =
      internal::kStatScoresSummary.multilabel();

  at::Tensor evaluate(const State& state) const;
  Dimensions dimensions() const override {
    return internal::classification::with_counts(MetricOf::dimensions());
  }
};

extern template class MetricOf<BinaryStatScores, BinaryCounts, at::Tensor,
                               BinaryStatScoresOptions>;
extern template class MetricOf<MulticlassStatScores, MulticlassCounts,
                               at::Tensor, MulticlassStatScoresOptions>;
extern template class MetricOf<MultilabelStatScores, MultilabelCounts,
                               at::Tensor, MultilabelStatScoresOptions>;

}  // namespace tally
