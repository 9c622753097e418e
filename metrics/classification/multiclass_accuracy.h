#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/stat_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The share of samples whose class is predicted rightly.
///
///     micro: sum(tp) / total,  per class: tp / (tp + fn)
/// Averages go over the classes that occur; one that is only predicted counts
/// with zero_division.
///
/// update(preds, target): target are labels [N, ...] of an integer dtype (bool
/// for 2 classes); preds too, or scores [N, C, ...] of a floating-point dtype.
/// Of equal scores that of the lower class is the larger.
///
/// Result: in [0, 1], float64 of shape [] or, with Average::kNone, [C];
/// kSamplewise puts [N] in front, in the order of the samples. State: the
/// counts of MulticlassStatScores, added up, or kept for each sample. Nothing
/// counted gives NaN. NaN among the scores of a position: the result (of its
/// sample) is NaN, kIgnore takes the position out. Ignored ones may hold any.
///
/// Throws c10::IndexError for labels that are no classes (on a GPU only under
/// validate_args; else they do not count), c10::TypeError and c10::ValueError
/// for other inputs. Not differentiable. As sklearn.metrics.accuracy_score.
///
/// Example:
///     MulticlassAccuracy accuracy(
///         MulticlassAccuracyOptions(10).average(Average::kMicro));
///     accuracy.update(preds, target);
///     at::Tensor value = accuracy.compute();
class MulticlassAccuracy final
    : public MetricOf<MulticlassAccuracy, MulticlassStatScores, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassAccuracy";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
