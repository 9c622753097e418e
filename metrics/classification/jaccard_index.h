#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {

using BinaryJaccardIndexOptions = BinaryRateOptions;
using MulticlassJaccardIndexOptions = MulticlassRateOptions;
using MultilabelJaccardIndexOptions = MultilabelRateOptions;

/// The intersection over the union of predictions and targets that are 1.
///
///     tp / (tp + fp + fn)
/// Where neither is 1 anywhere, it is zero_division.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for no samples,
/// NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, added up, or kept for each sample.
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
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The intersection over the union of predictions and targets of a class.
///
///     tp / (tp + fp + fn), per class or (micro) of all classes together
/// Averages go over the classes that occur.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise puts [N] in front, in the order of the samples. State: that of
/// MulticlassCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.jaccard_score. It takes three counts
/// per class, not a confusion matrix.
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
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The intersection over the union of predictions and targets of a label.
///
///     tp / (tp + fp + fn), per label, per sample or (micro) of all labels
///     together
/// A label that does not occur counts with zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with MultilabelAverage::kNone,
/// [L]; kSamplewise puts [N] in front, in the order of the samples. State: that
/// of MultilabelCounts, added up, or kept for each sample.
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
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
