#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kPrecisionSummary{
    "Fraction of positive predictions that are correct.", "[0, 1]", "",
    "ppv, positive predictive value", R"(\frac{TP}{TP + FP})"};

}  // namespace internal

using BinaryPrecisionOptions = BinaryRateOptions;
using MulticlassPrecisionOptions = MulticlassRateOptions;
using MultilabelPrecisionOptions = MultilabelRateOptions;

/// Fraction of predictions of 1 that are correct.
///
///     tp / (tp + fp)
/// It is zero_division if nothing is predicted as 1.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary =
      internal::kPrecisionSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kPrecisionRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

/// Fraction of predictions of the class that are correct.
///
///     tp / (tp + fp), per class or (micro) over all classes
/// Averages are over the classes that occur; one that is never predicted
/// contributes zero_division.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise prepends [N], in the order of the samples. State: that of
/// MulticlassCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary =
      internal::kPrecisionSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kPrecisionRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

/// Fraction of predictions of the label that are correct.
///
///     tp / (tp + fp), per label, per sample or (micro) over all labels
/// A label that is never predicted contributes zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone,
/// [L]; kSamplewise prepends [N], in the order of the samples. State: that of
/// MultilabelCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary =
      internal::kPrecisionSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kPrecisionRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

extern template class MetricOf<BinaryPrecision, BinaryCounts, at::Tensor,
                               BinaryPrecisionOptions>;
extern template class MetricOf<MulticlassPrecision, MulticlassCounts,
                               at::Tensor, MulticlassPrecisionOptions>;
extern template class MetricOf<MultilabelPrecision, MultilabelCounts,
                               at::Tensor, MultilabelPrecisionOptions>;

}  // namespace tally
