#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {

using BinaryAccuracyOptions = BinaryStatScoresOptions;
using MulticlassAccuracyOptions = MulticlassRateOptions;
using MultilabelAccuracyOptions = MultilabelStatScoresOptions;

/// The fraction of positions that are predicted correctly.
///
///     (tp + tn) / total
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.accuracy_score.
///
/// Example:
///     BinaryAccuracy accuracy;
///     accuracy.update(preds, target);
///     at::Tensor value = accuracy.compute();
class BinaryAccuracy final
    : public MetricOf<BinaryAccuracy, BinaryCounts, at::Tensor,
                      BinaryAccuracyOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryAccuracy";
  static constexpr MetricSummary kSummary =
      MetricSummary{"Fraction of samples classified correctly.", "[0, 1]", "",
                    "acc, overall accuracy, pixel accuracy",
                    R"(\frac{TP + TN}{TP + TN + FP + FN})"}
          .binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kAccuracyRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
  MetricSampling sampling() const override;
};

/// The mean over classes of the fraction of each that is predicted correctly;
/// with Average::kMicro plain accuracy, the fraction of all positions.
///
///     micro: sum(tp) / total,  per class: tp / (tp + fn)
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
/// Not differentiable. As sklearn.metrics.balanced_accuracy_score; with micro
/// as sklearn.metrics.accuracy_score.
///
/// Example:
///     MulticlassAccuracy accuracy(10);
///     accuracy.update(preds, target);
///     at::Tensor value = accuracy.compute();
class MulticlassAccuracy final
    : public MetricOf<MulticlassAccuracy, MulticlassCounts, at::Tensor,
                      MulticlassAccuracyOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassAccuracy";
  static constexpr MetricSummary kSummary =
      MetricSummary{
          "Fraction correct, averaged over classes; average=micro: of all "
          "samples.",
          "[0, 1]", "",
          "acc, top-k accuracy, top-1, top-5, overall accuracy, pixel accuracy",
          R"(\frac{1}{C} \sum_c \frac{TP_c}{TP_c + FN_c})"}
          .multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kRecallRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
  MetricSampling sampling() const override;
};

/// The fraction of elements that are predicted correctly.
///
///     (tp + tn) / total, per label or (micro) over all labels
/// For samples with all labels correct see MultilabelExactMatch.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone,
/// [L]; kSamplewise prepends [N], in the order of the samples. State: that of
/// MultilabelCounts, summed, or kept per sample.
///
/// Not differentiable. As 1 - sklearn.metrics.hamming_loss.
///
/// Example:
///     MultilabelAccuracy accuracy(5);
///     accuracy.update(preds, target);
///     at::Tensor value = accuracy.compute();
class MultilabelAccuracy final
    : public MetricOf<MultilabelAccuracy, MultilabelCounts, at::Tensor,
                      MultilabelAccuracyOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelAccuracy";
  static constexpr MetricSummary kSummary =
      MetricSummary{"Fraction of labels predicted correctly.", "[0, 1]", "",
                    "acc, label accuracy",
                    R"(\frac{TP + TN}{TP + TN + FP + FN})"}
          .multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr auto kRate = internal::classification::kAccuracyRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

extern template class MetricOf<BinaryAccuracy, BinaryCounts, at::Tensor,
                               BinaryAccuracyOptions>;
extern template class MetricOf<MulticlassAccuracy, MulticlassCounts, at::Tensor,
                               MulticlassAccuracyOptions>;
extern template class MetricOf<MultilabelAccuracy, MultilabelCounts, at::Tensor,
                               MultilabelAccuracyOptions>;

}  // namespace tally
