#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// How many positions are true and false positives, true and false negatives,
/// and how many targets are 1.
///
///     tp, fp, tn, fn, tp + fn
///
/// update(preds, target, weight = {}): target [N, ...] holds 0 and 1 in any
/// real dtype; preds too, in an integer dtype or bool, or floating-point
/// scores, of which `input` says what they are; weights [N, ...] (default: 1).
///
/// Result: int64, but float64 for sums of weights and with NaN: [5] or, with
/// kSamplewise, [N, 5]. State: that of BinaryCounts, added up, or kept for each
/// sample. Nothing counted gives 0. NaN in preds or weight: the result (of
/// its sample) is NaN, kIgnore takes the position out. Ignored ones may hold
/// any.
///
/// Throws c10::IndexError for labels but 0 and 1 (on a GPU only under
/// validate_args; else they do not count), c10::ValueError for probabilities
/// outside [0, 1] and weights with kSamplewise, c10::TypeError and
/// c10::ValueError for other inputs. Not differentiable.
///
/// Example:
///     BinaryStatScores scores;
///     scores.update(preds, target);
///     at::Tensor value = scores.compute();
class BinaryStatScores final
    : public MetricOf<BinaryStatScores, BinaryCounts, at::Tensor,
                      BinaryStatScoresOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryStatScores";

  at::Tensor evaluate(const State& state) const;
};

/// How many positions are true and false positives, true and false negatives of
/// each class, and how many have it as target.
///
///     tp, fp, tn, fn, tp + fn
/// Averages are those of each of the five over all classes.
///
/// update(preds, target, weight = {}): target are labels [N, ...], whole
/// numbers of any real dtype (bool for 2 classes); preds too, of an integer
/// dtype, or scores [N, C, ...] of a floating-point dtype, of which the lower
/// class wins ties; weights [N, ...] (default: 1).
///
/// Result: int64, but float64 for sums of weights, for averages but micro and
/// with NaN: [5] or, with Average::kNone, [C, 5]; kSamplewise puts [N] in
/// front. State: that of MulticlassCounts, added up, or kept for each sample.
/// Nothing counted gives 0. NaN in preds or weight: the result (of its
/// sample) is NaN, kIgnore takes the position out. Ignored ones may hold any.
///
/// Throws c10::IndexError for labels that are no classes (on a GPU only under
/// validate_args; else they do not count), c10::ValueError for weights with
/// kSamplewise, c10::TypeError and c10::ValueError for other inputs. Not
/// differentiable.
///
/// Example:
///     MulticlassStatScores scores(10);
///     scores.update(preds, target);
///     at::Tensor value = scores.compute();
class MulticlassStatScores final
    : public MetricOf<MulticlassStatScores, MulticlassCounts, at::Tensor,
                      MulticlassStatScoresOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassStatScores";

  at::Tensor evaluate(const State& state) const;
};

/// How many positions are true and false positives, true and false negatives of
/// each label, and how many have it as target.
///
///     tp, fp, tn, fn, tp + fn
/// Averages are those of each of the five over all labels.
///
/// update(preds, target, weight = {}): target [N, L, ...] holds 0 and 1 in any
/// real dtype; preds too, in an integer dtype or bool, or floating-point
/// scores, of which `input` says what they are; weights [N, ...] (default: 1).
///
/// Result: int64, but float64 for sums of weights, for averages but micro and
/// with NaN: [5] or, with MultilabelAverage::kNone, [L, 5]; kSamplewise puts
/// [N] in front. State: that of MultilabelCounts, added up, or kept for each
/// sample. Nothing counted gives 0. NaN in preds or weight: the result (of
/// its sample and label) is NaN, kIgnore takes the element out. Ignored ones
/// may hold any.
///
/// Throws c10::IndexError for labels but 0 and 1 (on a GPU only under
/// validate_args; else they do not count), c10::ValueError for probabilities
/// outside [0, 1] and weights with kSamplewise, c10::TypeError and
/// c10::ValueError for other inputs. Not differentiable.
///
/// Example:
///     MultilabelStatScores scores(5);
///     scores.update(preds, target);
///     at::Tensor value = scores.compute();
class MultilabelStatScores final
    : public MetricOf<MultilabelStatScores, MultilabelCounts, at::Tensor,
                      MultilabelStatScoresOptions> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelStatScores";

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
