#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {

using BinaryNegativePredictiveValueOptions = BinaryRateOptions;
using MulticlassNegativePredictiveValueOptions = MulticlassRateOptions;
using MultilabelNegativePredictiveValueOptions = MultilabelRateOptions;

/// How many of the predictions of 0 are right: precision of 0.
///
///     tn / (tn + fn)
/// Where everything is predicted to be 1, it is zero_division.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for no samples,
/// NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.precision_score with pos_label 0.
///
/// Example:
///     BinaryNegativePredictiveValue npv;
///     npv.update(preds, target);
///     at::Tensor value = npv.compute();
class BinaryNegativePredictiveValue final
    : public MetricOf<BinaryNegativePredictiveValue, BinaryCounts, at::Tensor,
                      BinaryNegativePredictiveValueOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryNegativePredictiveValue";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// How many of the predictions of other classes than a class are right about
/// it.
///
///     tn / (tn + fn), per class or (micro) of all classes together
/// Averages go over the classes that occur; one that is always predicted counts
/// with zero_division.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise puts [N] in front, in the order of the samples. State: that of
/// MulticlassCounts, added up, or kept for each sample.
///
/// Not differentiable. As precision of the opposite of each class.
///
/// Example:
///     MulticlassNegativePredictiveValue npv(10);
///     npv.update(preds, target);
///     at::Tensor value = npv.compute();
class MulticlassNegativePredictiveValue final
    : public MetricOf<MulticlassNegativePredictiveValue, MulticlassCounts,
                      at::Tensor, MulticlassNegativePredictiveValueOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassNegativePredictiveValue";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// How many of the predictions without a label are right.
///
///     tn / (tn + fn), per label, per sample or (micro) of all labels together
/// A label that is always predicted counts with zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with MultilabelAverage::kNone,
/// [L]; kSamplewise puts [N] in front, in the order of the samples. State: that
/// of MultilabelCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.precision_score of 1 - preds and 1 -
/// target, but weighted is by the positions with the label.
///
/// Example:
///     MultilabelNegativePredictiveValue npv(5);
///     npv.update(preds, target);
///     at::Tensor value = npv.compute();
class MultilabelNegativePredictiveValue final
    : public MetricOf<MultilabelNegativePredictiveValue, MultilabelCounts,
                      at::Tensor, MultilabelNegativePredictiveValueOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelNegativePredictiveValue";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
