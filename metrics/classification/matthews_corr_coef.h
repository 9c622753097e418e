#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {

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
/// It is 0 where predictions or targets are all the same.
///
/// update(preds, target, weight = {}): target [N, ...] holds 0 and 1 in any
/// real dtype; preds too, in an integer dtype or bool, or floating-point
/// scores, of which `input` says what they are; weights [N, ...] (default: 1).
///
/// Result: in [-1, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of BinaryCounts, added up, or kept for each sample. Nothing counted
/// gives NaN. NaN in preds or weight: the result (of its sample) is NaN,
/// kIgnore takes the position out. Ignored ones may hold any.
///
/// Throws c10::IndexError for labels but 0 and 1 (on a GPU only under
/// validate_args; else they do not count), c10::ValueError for probabilities
/// outside [0, 1] and weights with kSamplewise, c10::TypeError and
/// c10::ValueError for other inputs. Not differentiable. As
/// sklearn.metrics.matthews_corrcoef.
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
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The correlation of predicted and target classes.
///
///     (c n - sum p_k t_k) / sqrt((n^2 - sum p_k^2) (n^2 - sum t_k^2))
/// of n positions, c predicted rightly, p_k predicted to be k, t_k of class k.
/// It is 0 where predictions or targets are all the same. It takes three counts
/// per class, not a confusion matrix.
///
/// update(preds, target, weight = {}): target are labels [N, ...], whole
/// numbers of any real dtype (bool for 2 classes); preds too, of an integer
/// dtype, or scores [N, C, ...] of a floating-point dtype, of which the lower
/// class wins ties; weights [N, ...] (default: 1).
///
/// Result: in [-1, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of MulticlassCounts, added up, or kept for each sample. Nothing counted
/// gives NaN. NaN in preds or weight: the result (of its sample) is NaN,
/// kIgnore takes the position out. Ignored ones may hold any.
///
/// Throws c10::IndexError for labels that are no classes (on a GPU only under
/// validate_args; else they do not count), c10::ValueError for weights with
/// kSamplewise, c10::TypeError and c10::ValueError for other inputs. Not
/// differentiable. As sklearn.metrics.matthews_corrcoef.
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
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The correlation of predictions and targets, of all labels together.
///
///     (tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn))
/// It is 0 where predictions or targets are all the same.
///
/// update(preds, target, weight = {}): target [N, L, ...] holds 0 and 1 in any
/// real dtype; preds too, in an integer dtype or bool, or floating-point
/// scores, of which `input` says what they are; weights [N, ...] (default: 1).
///
/// Result: in [-1, 1], float64 of shape [] or, with kSamplewise, [N]. State:
/// that of MultilabelCounts, added up, or kept for each sample. Nothing counted
/// gives NaN. NaN in preds or weight: the result (of its sample and label) is
/// NaN, kIgnore takes the element out. Ignored ones may hold any.
///
/// Throws c10::IndexError for labels but 0 and 1 (on a GPU only under
/// validate_args; else they do not count), c10::ValueError for probabilities
/// outside [0, 1] and weights with kSamplewise, c10::TypeError and
/// c10::ValueError for other inputs. Not differentiable. As
/// sklearn.metrics.matthews_corrcoef.
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
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
