#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tally/metrics/classification/stat_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The harmonic mean of precision and recall.
///
///     2 tp / (2 tp + fp + fn), per class or (micro) of all classes together
/// Averages go over the classes that occur. Without a right prediction a class
/// that occurs has 0; zero_division is for classes that do not occur.
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
/// for other inputs. Not differentiable. As sklearn.metrics.f1_score.
///
/// Example:
///     MulticlassF1Score f1(
///         MulticlassF1ScoreOptions(10).average(Average::kWeighted));
///     f1.update(preds, target);
///     at::Tensor value = f1.compute();
class MulticlassF1Score final
    : public MetricOf<MulticlassF1Score, MulticlassStatScores, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassF1Score";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
