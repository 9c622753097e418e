#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/state/fields.h"

namespace tally {

/// What all metrics on the curves of a classifier accumulate (ROC,
/// precision-recall, and what is computed from them): without thresholds every
/// score and target, with T of them a histogram of the scores. What batches
/// with weights leave is kept apart, so that they mix with others.
struct CurveState {
  /// float32 or float64, [N] or [N, curves].
  Rows preds;
  /// Binary [N] and multilabel [N, curves]: uint8, 0, 1, or 2 for positions
  /// that do not count. Multiclass [N]: int64 classes.
  Rows target;
  /// int64 [curves, 2, T + 2]: for each curve the negatives and the positives,
  /// by the number of thresholds that the score reaches (score >= threshold,
  /// compared in float64), and NaN at the end.
  at::Tensor histogram;
  /// int32, places in the histogram that are not counted there yet: a small
  /// batch does not cost a large histogram.
  Rows places;
  /// Of samples with weights the same; the histogram is float64 and has the
  /// sums of their weights.
  Rows weighted_preds;
  Rows weighted_target;
  at::Tensor weighted_histogram;
  Rows weighted_places;
  /// float64, one for each row of weighted_preds, or each of weighted_places.
  Rows weights;
  std::int64_t curves = 0;   // sizes of the histogram
  std::int64_t columns = 0;  // T + 2

  void fields(Fields& f) {
    f("preds", preds)("target", target);
    f("histogram", histogram)("places", places);
    f("weighted_preds", weighted_preds)("weighted_target", weighted_target);
    f("weighted_histogram", weighted_histogram);
    f("weighted_places", weighted_places)("weights", weights);
    f("curves", curves, Merge::kMax)("columns", columns, Merge::kMax);
  }
  void compact();
  /// The histograms with the places counted, undefined if there are neither.
  /// They may be the state's own, and are with `in_place`.
  at::Tensor counted(bool in_place = false) const;
  at::Tensor weighted_counted(bool in_place = false) const;
};

}  // namespace tally
