#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kBalancedAccuracySummary{
    "Mean recall over the classes.",
    "(-inf, 1]",
    "",
    "balanced acc, mean class accuracy, unweighted average recall, uar",
    R"(\frac{1}{C} \sum_c \frac{TP_c}{TP_c + FN_c})",
    "Brodersen et al. 2010"};

}  // namespace internal

/// Options of BinaryBalancedAccuracy.
struct BinaryBalancedAccuracyOptions
    : BinaryCountsOptions<BinaryBalancedAccuracyOptions> {
  /// Rescale such that a constant prediction gives 0 instead of 1 / classes,
  /// and a perfect one 1.
  TALLY_INHERITED_ARG(BinaryBalancedAccuracyOptions, bool, adjusted) = false;

 public:
  void visit(OptionVisitor& v) {
    BinaryCountsOptions::visit(v);
    v("adjusted", adjusted_, OptionRole::kValue, internal::words::kAdjusted);
  }
};

/// Options of MulticlassBalancedAccuracy.
struct MulticlassBalancedAccuracyOptions
    : MulticlassCountsOptions<MulticlassBalancedAccuracyOptions> {
  using MulticlassCountsOptions::MulticlassCountsOptions;

  /// Rescale such that a constant prediction gives 0 instead of 1 / classes,
  /// and a perfect one 1.
  TALLY_INHERITED_ARG(MulticlassBalancedAccuracyOptions, bool,
                      adjusted) = false;

 public:
  void visit(OptionVisitor& v) {
    MulticlassCountsOptions::visit(v);
    v("adjusted", adjusted_, OptionRole::kValue, internal::words::kAdjusted);
  }
};

/// The mean of the recalls of 1 and 0.
///
///     (tp / (tp + fn) + tn / (tn + fp)) / 2
/// If only one of them occurs as a target, the recall of that one. Adjusted,
/// with n classes that occur: (value - 1 / n) / (1 - 1 / n).
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary =
      internal::kBalancedAccuracySummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr internal::classification::CountCells kCells{
      /*is_signed=*/false, /*of_both_classes=*/true};
  static constexpr auto kAveragedRate = internal::classification::kRecallRate;

  at::Tensor evaluate(const State& state) const;
  MetricSampling sampling() const override;
};

/// The mean of the recalls of the classes that occur as targets.
///
///     mean over classes of tp / (tp + fn)
/// Adjusted, with n such classes: (value - 1 / n) / (1 - 1 / n).
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [0, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of MulticlassCounts, summed, or kept per sample.
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
  static constexpr MetricSummary kSummary =
      internal::kBalancedAccuracySummary.multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr internal::classification::CountCells kCells{
      /*is_signed=*/false, /*of_both_classes=*/true};
  static constexpr auto kAveragedRate = internal::classification::kRecallRate;

  at::Tensor evaluate(const State& state) const;
  MetricSampling sampling() const override;
};

extern template class MetricOf<BinaryBalancedAccuracy, BinaryCounts, at::Tensor,
                               BinaryBalancedAccuracyOptions>;
extern template class MetricOf<MulticlassBalancedAccuracy, MulticlassCounts,
                               at::Tensor, MulticlassBalancedAccuracyOptions>;

}  // namespace tally
