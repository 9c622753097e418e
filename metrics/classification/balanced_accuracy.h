#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/options/inherited_arg.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of BinaryBalancedAccuracy.
struct BinaryBalancedAccuracyOptions
    : BinaryCountsOptions<BinaryBalancedAccuracyOptions> {
  /// Whether a constant prediction gives 0 rather than 1 / classes, and a right
  /// one still 1. Default: false.
  TALLY_INHERITED_ARG(BinaryBalancedAccuracyOptions, bool, adjusted) = false;

 public:
  void visit(OptionVisitor& v) {
    BinaryCountsOptions::visit(v);
    v("adjusted", adjusted_, OptionRole::kValue);
  }
};

/// Options of MulticlassBalancedAccuracy.
struct MulticlassBalancedAccuracyOptions
    : MulticlassCountsOptions<MulticlassBalancedAccuracyOptions> {
  using MulticlassCountsOptions::MulticlassCountsOptions;

  /// Whether a constant prediction gives 0 rather than 1 / classes, and a right
  /// one still 1. Default: false.
  TALLY_INHERITED_ARG(MulticlassBalancedAccuracyOptions, bool,
                      adjusted) = false;

 public:
  void visit(OptionVisitor& v) {
    MulticlassCountsOptions::visit(v);
    v("adjusted", adjusted_, OptionRole::kValue);
  }
};

/// The mean of the recalls of 1 and 0.
///
///     (tp / (tp + fn) + tn / (tn + fp)) / 2
/// If only one of them occurs as a target, it is that one's. Adjusted by n
/// classes that occur: (value - 1 / n) / (1 - 1 / n).
///
/// update(preds, target, weight = {}): see BinaryCounts, also for no samples,
/// NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.balanced_accuracy_score.
///
/// Example:
///     BinaryBalancedAccuracy accuracy;
///     accuracy.update(preds, target);
///     at::Tensor value = accuracy.compute();
class BinaryBalancedAccuracy final
    : public MetricOf<BinaryBalancedAccuracy, BinaryCounts, at::Tensor,
                      BinaryBalancedAccuracyOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryBalancedAccuracy";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The mean of the recalls of the classes that occur as targets.
///
///     mean over classes of tp / (tp + fn)
/// Adjusted by n such classes: (value - 1 / n) / (1 - 1 / n).
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for no
/// samples, NaN, ignored positions and wrong values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of MulticlassCounts, added up, or kept for each sample.
///
/// Not differentiable. As sklearn.metrics.balanced_accuracy_score.
///
/// Example:
///     MulticlassBalancedAccuracy accuracy(10);
///     accuracy.update(preds, target);
///     at::Tensor value = accuracy.compute();
class MulticlassBalancedAccuracy final
    : public MetricOf<MulticlassBalancedAccuracy, MulticlassCounts, at::Tensor,
                      MulticlassBalancedAccuracyOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassBalancedAccuracy";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
