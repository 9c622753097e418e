#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {

using BinaryHammingDistanceOptions = BinaryStatScoresOptions;
using MulticlassHammingDistanceOptions = MulticlassRateOptions;
using MultilabelHammingDistanceOptions = MultilabelStatScoresOptions;

/// The fraction of positions that are predicted incorrectly.
///
///     (fp + fn) / total
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.hamming_loss.
///
/// Example:
///     BinaryHammingDistance distance;
///     distance.update(preds, target);
///     at::Tensor value = distance.compute();
class BinaryHammingDistance final
    : public MetricOf<BinaryHammingDistance, BinaryCounts, at::Tensor,
                      BinaryHammingDistanceOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryHammingDistance";
  static constexpr MetricSummary kSummary =
      MetricSummary{"Fraction of samples classified incorrectly.",
                    "[0, 1]",
                    "",
                    "error rate, hamming loss, zero-one loss",
                    R"(\frac{FP + FN}{TP + TN + FP + FN})",
                    "Hamming 1950"}
          .binary();
  static constexpr std::optional<bool> kHigherIsBetter = false;
  static constexpr auto kRate = internal::classification::kErrorRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

/// The fraction of positions whose class is predicted incorrectly.
///
///     fn / (tp + fn) of a class, 1 - MulticlassAccuracy
/// A class that never occurs, neither as a target nor predicted, has the value
/// zero_division, which here is a distance: 0 by default. One that is predicted
/// and never a target is always wrong: 1, or NaN if zero_division is.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise prepends [N], in the order of the samples. State: that of
/// MulticlassCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.hamming_loss with micro.
///
/// Example:
///     MulticlassHammingDistance distance(10);
///     distance.update(preds, target);
///     at::Tensor value = distance.compute();
class MulticlassHammingDistance final
    : public MetricOf<MulticlassHammingDistance, MulticlassCounts, at::Tensor,
                      MulticlassHammingDistanceOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassHammingDistance";
  static constexpr MetricSummary kSummary =
      MetricSummary{
          "Fraction incorrect, averaged over classes; average=micro: of all "
          "samples.",
          "[0, 1]",
          "",
          "error rate, hamming loss, zero-one loss",
          R"(\frac{1}{C} \sum_c \frac{FN_c}{TP_c + FN_c})",
          "Hamming 1950"}
          .multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = false;
  static constexpr auto kRate = internal::classification::kMissRate;

  at::Tensor evaluate(const State& state) const;
};

/// The fraction of elements that are predicted incorrectly.
///
///     (fp + fn) / total, per label, per sample or (micro) over all labels
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone,
/// [L]; kSamplewise prepends [N], in the order of the samples. State: that of
/// MultilabelCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.hamming_loss.
///
/// Example:
///     MultilabelHammingDistance distance(5);
///     distance.update(preds, target);
///     at::Tensor value = distance.compute();
class MultilabelHammingDistance final
    : public MetricOf<MultilabelHammingDistance, MultilabelCounts, at::Tensor,
                      MultilabelHammingDistanceOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelHammingDistance";
  static constexpr MetricSummary kSummary =
      MetricSummary{"Fraction of labels predicted incorrectly.",
                    "[0, 1]",
                    "",
                    "error rate, hamming loss",
                    R"(\frac{FP + FN}{TP + TN + FP + FN})",
                    "Hamming 1950"}
          .multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = false;
  static constexpr auto kRate = internal::classification::kErrorRate;

  at::Tensor evaluate(const State& state) const {
    return internal::classification::rate_in(state, options(), kRate);
  }
};

extern template class MetricOf<BinaryHammingDistance, BinaryCounts, at::Tensor,
                               BinaryHammingDistanceOptions>;
extern template class MetricOf<MulticlassHammingDistance, MulticlassCounts,
                               at::Tensor, MulticlassHammingDistanceOptions>;
extern template class MetricOf<MultilabelHammingDistance, MultilabelCounts,
                               at::Tensor, MultilabelHammingDistanceOptions>;

}  // namespace tally
