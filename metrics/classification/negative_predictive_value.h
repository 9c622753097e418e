#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kNegativePredictiveValueSummary{
    "Fraction of negative predictions that are correct.", "[0, 1]", "", "npv",
    R"(\frac{TN}{TN + FN})"};

}  // namespace internal

using BinaryNegativePredictiveValueOptions = BinaryRateOptions;
using MulticlassNegativePredictiveValueOptions = MulticlassRateOptions;
using MultilabelNegativePredictiveValueOptions = MultilabelRateOptions;

/// Fraction of predictions of 0 that are correct: precision of 0.
///
///     tn / (tn + fn)
/// It is zero_division if everything is predicted as 1.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary =
      internal::kNegativePredictiveValueSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate =
      internal::classification::kNegativePredictiveRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

/// Fraction of predictions of other classes that are correct in excluding the
/// class.
///
///     tn / (tn + fn), per class or (micro) over all classes
/// Averages are over the classes that occur; one that is always predicted
/// contributes zero_division.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise prepends [N], in the order of the samples. State: that of
/// MulticlassCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary =
      internal::kNegativePredictiveValueSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate =
      internal::classification::kNegativePredictiveRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

/// Fraction of predictions without the label that are correct.
///
///     tn / (tn + fn), per label, per sample or (micro) over all labels
/// A label that is always predicted contributes zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone,
/// [L]; kSamplewise prepends [N], in the order of the samples. State: that of
/// MultilabelCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.precision_score of 1 - preds and 1 -
/// target, except that kWeighted weights by the positions with the label.
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
  static constexpr MetricSummary kSummary =
      internal::kNegativePredictiveValueSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate =
      internal::classification::kNegativePredictiveRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

extern template class MetricOf<BinaryNegativePredictiveValue, BinaryCounts,
                               at::Tensor,
                               BinaryNegativePredictiveValueOptions>;
extern template class MetricOf<MulticlassNegativePredictiveValue,
                               MulticlassCounts, at::Tensor,
                               MulticlassNegativePredictiveValueOptions>;
extern template class MetricOf<MultilabelNegativePredictiveValue,
                               MultilabelCounts, at::Tensor,
                               MultilabelNegativePredictiveValueOptions>;

}  // namespace tally
