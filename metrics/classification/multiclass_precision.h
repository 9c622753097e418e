#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/stat_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// How many of the predictions of a class are right.
///
///     tp / (tp + fp), per class or (micro) of all classes together
/// Averages go over the classes that occur; one that is never predicted counts
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
/// for other inputs. Not differentiable. As sklearn.metrics.precision_score.
///
/// Example:
///     MulticlassPrecision precision(
///         MulticlassPrecisionOptions(10).average(Average::kWeighted));
///     precision.update(preds, target);
///     at::Tensor value = precision.compute();
class MulticlassPrecision final
    : public MetricOf<MulticlassPrecision, MulticlassStatScores, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassPrecision";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
