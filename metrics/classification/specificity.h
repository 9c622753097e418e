#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {

using BinarySpecificityOptions = BinaryRateOptions;
using MulticlassSpecificityOptions = MulticlassRateOptions;
using MultilabelSpecificityOptions = MultilabelRateOptions;

/// How many of the targets that are 0 are found: recall of 0.
///
///     tn / (tn + fp)
/// Where every target is 1, it is zero_division.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for no samples,
/// NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, added up, or kept for each sample.
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
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// How many of the targets of other classes are not taken for a class.
///
///     tn / (tn + fp), per class or (micro) of all classes together
/// Averages go over the classes that occur; one that every target has counts
/// with zero_division.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise puts [N] in front, in the order of the samples. State: that of
/// MulticlassCounts, added up, or kept for each sample.
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
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// How many of the targets without a label are found.
///
///     tn / (tn + fp), per label, per sample or (micro) of all labels together
/// A label that is always set counts with zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with MultilabelAverage::kNone,
/// [L]; kSamplewise puts [N] in front, in the order of the samples. State: that
/// of MultilabelCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.recall_score of 1 - preds and 1 -
/// target, but weighted is by the positions with the label.
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
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
