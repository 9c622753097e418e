#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {

using BinaryPrecisionOptions = BinaryRateOptions;
using MulticlassPrecisionOptions = MulticlassRateOptions;
using MultilabelPrecisionOptions = MultilabelRateOptions;

/// How many of the predictions of 1 are right.
///
///     tp / (tp + fp)
/// Where nothing is predicted to be 1, it is zero_division.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for no samples,
/// NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.precision_score.
///
/// Example:
///     BinaryPrecision precision;
///     precision.update(preds, target);
///     at::Tensor value = precision.compute();
class BinaryPrecision final
    : public MetricOf<BinaryPrecision, BinaryCounts, at::Tensor,
                      BinaryPrecisionOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryPrecision";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// How many of the predictions of a class are right.
///
///     tp / (tp + fp), per class or (micro) of all classes together
/// Averages go over the classes that occur; one that is never predicted counts
/// with zero_division.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise puts [N] in front, in the order of the samples. State: that of
/// MulticlassCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.precision_score.
///
/// Example:
///     MulticlassPrecision precision(10);
///     precision.update(preds, target);
///     at::Tensor value = precision.compute();
class MulticlassPrecision final
    : public MetricOf<MulticlassPrecision, MulticlassCounts, at::Tensor,
                      MulticlassPrecisionOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassPrecision";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// How many of the predictions of a label are right.
///
///     tp / (tp + fp), per label, per sample or (micro) of all labels together
/// A label that is never predicted counts with zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with MultilabelAverage::kNone,
/// [L]; kSamplewise puts [N] in front, in the order of the samples. State: that
/// of MultilabelCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.precision_score.
///
/// Example:
///     MultilabelPrecision precision(5);
///     precision.update(preds, target);
///     at::Tensor value = precision.compute();
class MultilabelPrecision final
    : public MetricOf<MultilabelPrecision, MultilabelCounts, at::Tensor,
                      MultilabelPrecisionOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelPrecision";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
