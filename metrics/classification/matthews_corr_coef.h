#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kMatthewsCorrCoefSummary{
    "Correlation of predicted and actual classes.",
    "[-1, 1]",
    "",
    "mcc, phi coefficient, matthews correlation",
    R"(\frac{TP \cdot TN - FP \cdot FN}{\sqrt{(TP + FP)(TP + FN)(TN + FP)(TN + FN)}})",
    "Matthews 1975; Gorodkin 2004"};

}  // namespace internal

using BinaryMatthewsCorrCoefOptions = BinaryStatScoresOptions;

/// Options of MulticlassMatthewsCorrCoef.
struct MulticlassMatthewsCorrCoefOptions
    : MulticlassCountsOptions<MulticlassMatthewsCorrCoefOptions> {
  using MulticlassCountsOptions::MulticlassCountsOptions;
};

/// Options of MultilabelMatthewsCorrCoef.
struct MultilabelMatthewsCorrCoefOptions
    : MultilabelCountsOptions<MultilabelMatthewsCorrCoefOptions> {
  using MultilabelCountsOptions::MultilabelCountsOptions;
};

/// The correlation of predictions and targets.
///
///     (tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn))
/// It is 0 if all predictions or all targets are the same.
///
/// update(preds, target, weight = {}): see BinaryCounts, also for empty input,
/// NaN, ignored positions and invalid values.
///
/// Result: in [-1, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.matthews_corrcoef.
///
/// Example:
///     BinaryMatthewsCorrCoef mcc;
///     mcc.update(preds, target);
///     at::Tensor value = mcc.compute();
class BinaryMatthewsCorrCoef final
    : public MetricOf<BinaryMatthewsCorrCoef, BinaryCounts, at::Tensor,
                      BinaryMatthewsCorrCoefOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryMatthewsCorrCoef";
  static constexpr MetricSummary kSummary =
      internal::kMatthewsCorrCoefSummary.binary();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr internal::classification::CountCells kCells{
      /*is_signed=*/true, /*of_both_classes=*/true};

  at::Tensor evaluate(const State& state) const;
};

/// The correlation of predicted and target classes.
///
///     (c n - sum p_k t_k) / sqrt((n^2 - sum p_k^2) (n^2 - sum t_k^2))
/// with n positions, c predicted correctly, p_k predicted as k, t_k of class k.
/// It is 0 if all predictions or all targets are the same. Computed from three
/// counts per class, not a confusion matrix.
///
/// update(preds, target, weight = {}): see MulticlassCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [-1, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of MulticlassCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.matthews_corrcoef.
///
/// Example:
///     MulticlassMatthewsCorrCoef mcc(10);
///     mcc.update(preds, target);
///     at::Tensor value = mcc.compute();
class MulticlassMatthewsCorrCoef final
    : public MetricOf<MulticlassMatthewsCorrCoef, MulticlassCounts, at::Tensor,
                      MulticlassMatthewsCorrCoefOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassMatthewsCorrCoef";
  static constexpr MetricSummary kSummary =
      MetricSummary{
          "Correlation of predicted and actual classes.",
          "[-1, 1]",
          "",
          "mcc, phi coefficient, matthews correlation",
          R"(\frac{c\, s - \sum_k p_k t_k}{\sqrt{(s^2 - \sum_k p_k^2)(s^2 - \sum_k t_k^2)}})",
          "Matthews 1975; Gorodkin 2004"}
          .multiclass();
  static constexpr std::optional<bool> kHigherIsBetter = true;
  static constexpr internal::classification::CountCells kCells{
      /*is_signed=*/true, /*of_both_classes=*/true};

  at::Tensor evaluate(const State& state) const;
};

/// The correlation of predictions and targets over all labels.
///
///     (tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn))
/// It is 0 if all predictions or all targets are the same.
///
/// update(preds, target, weight = {}): see MultilabelCounts, also for empty
/// input, NaN, ignored positions and invalid values.
///
/// Result: in [-1, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of MultilabelCounts, summed, or kept per sample.
///
/// Not differentiable. As sklearn.metrics.matthews_corrcoef.
///
/// Example:
///     MultilabelMatthewsCorrCoef mcc(5);
///     mcc.update(preds, target);
///     at::Tensor value = mcc.compute();
class MultilabelMatthewsCorrCoef final
    : public MetricOf<MultilabelMatthewsCorrCoef, MultilabelCounts, at::Tensor,
                      MultilabelMatthewsCorrCoefOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelMatthewsCorrCoef";
  static constexpr MetricSummary kSummary =
      internal::kMatthewsCorrCoefSummary.multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinaryMatthewsCorrCoef, BinaryCounts, at::Tensor,
                               BinaryMatthewsCorrCoefOptions>;
extern template class MetricOf<MulticlassMatthewsCorrCoef, MulticlassCounts,
                               at::Tensor, MulticlassMatthewsCorrCoefOptions>;
extern template class MetricOf<MultilabelMatthewsCorrCoef, MultilabelCounts,
                               at::Tensor, MultilabelMatthewsCorrCoefOptions>;

}  // namespace tally
