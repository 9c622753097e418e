#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {

using BinaryRecallOptions = BinaryRateOptions;
using MulticlassRecallOptions = MulticlassRateOptions;
using MultilabelRecallOptions = MultilabelRateOptions;

/// How many of the targets that are 1 are found.
///
///     tp / (tp + fn)
/// Where no target is 1, it is zero_division.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for no samples,
/// NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.recall_score.
///
/// Example:
///     BinaryRecall recall;
///     recall.update(preds, target);
///     at::Tensor value = recall.compute();
class BinaryRecall final : public MetricOf<BinaryRecall, BinaryCounts,
                                           at::Tensor, BinaryRecallOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryRecall";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// How many of the targets of a class are found.
///
///     tp / (tp + fn), per class or (micro) of all classes together
/// Averages go over the classes that occur; one that is only predicted counts
/// with zero_division.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise puts [N] in front, in the order of the samples. State: that of
/// MulticlassCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.recall_score.
///
/// Example:
///     MulticlassRecall recall(10);
///     recall.update(preds, target);
///     at::Tensor value = recall.compute();
class MulticlassRecall final
    : public MetricOf<MulticlassRecall, MulticlassCounts, at::Tensor,
                      MulticlassRecallOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassRecall";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// How many of the targets of a label are found.
///
///     tp / (tp + fn), per label, per sample or (micro) of all labels together
/// A label that is never set counts with zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with MultilabelAverage::kNone,
/// [L]; kSamplewise puts [N] in front, in the order of the samples. State: that
/// of MultilabelCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.recall_score.
///
/// Example:
///     MultilabelRecall recall(5);
///     recall.update(preds, target);
///     at::Tensor value = recall.compute();
class MultilabelRecall final
    : public MetricOf<MultilabelRecall, MultilabelCounts, at::Tensor,
                      MultilabelRecallOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelRecall";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
