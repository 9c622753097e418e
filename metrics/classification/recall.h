#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kRecallSummary{
    "Fraction of actual positives that are found.", "[0, 1]", "",
    "tpr, sensitivity, true positive rate, hit rate", R"(\frac{TP}{TP + FN})"};

}  // namespace internal

using BinaryRecallOptions = BinaryRateOptions;
using MulticlassRecallOptions = MulticlassRateOptions;
using MultilabelRecallOptions = MultilabelRateOptions;

/// Fraction of targets that are 1 that are found.
///
///     tp / (tp + fn)
/// It is zero_division if no target is 1.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary = internal::kRecallSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kRecallRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

/// Fraction of targets of the class that are found.
///
///     tp / (tp + fn), per class or (micro) over all classes
/// Averages are over the classes that occur; one that is only predicted
/// contributes zero_division.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise prepends [N], in the order of the samples. State: that of
/// MulticlassCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary =
      internal::kRecallSummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kRecallRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

/// Fraction of targets with the label that are found.
///
///     tp / (tp + fn), per label, per sample or (micro) over all labels
/// A label that is never set contributes zero_division.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone,
/// [L]; kSamplewise prepends [N], in the order of the samples. State: that of
/// MultilabelCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary =
      internal::kRecallSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kRecallRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

extern template class MetricOf<BinaryRecall, BinaryCounts, at::Tensor,
                               BinaryRecallOptions>;
extern template class MetricOf<MulticlassRecall, MulticlassCounts, at::Tensor,
                               MulticlassRecallOptions>;
extern template class MetricOf<MultilabelRecall, MultilabelCounts, at::Tensor,
                               MultilabelRecallOptions>;

}  // namespace tally
