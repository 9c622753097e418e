#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/state/fields.h"

namespace tally {

/// Samples on the curves of a classifier: without thresholds every score and
/// target, with T of them a histogram of the scores.
struct CurveSamples {
  /// float32 or float64, [N] or [N, curves].
  Rows preds;
  /// Binary [N] and multilabel [N, curves]: uint8, 0, 1, or 2 for positions
  /// that do not count. Multiclass [N]: int64 classes.
  Rows target;
  /// [curves, 2, T + 2]: for each curve the negatives and the positives, by the
  /// number of thresholds that the score reaches (score >= threshold, compared
  /// in float64), and NaN at the end. int64 counts, or float64 sums of weights.
  at::Tensor histogram;
  /// int32, places in the histogram that are not counted there yet: a small
  /// batch does not cost a large histogram.
  Rows places;

  bool has_rows() const { return preds.defined() || target.defined(); }
};

/// What all metrics on the curves of a classifier accumulate (ROC,
/// precision-recall, and what is computed from them). What batches with weights
/// leave is kept apart, so that they mix with others.
struct CurveState {
  CurveSamples unweighted;
  CurveSamples weighted;
  /// float64, one for each row of weighted.preds, or each of weighted.places.
  Rows weights;
  std::int64_t curves = 0;   // sizes of the histogram
  std::int64_t columns = 0;  // T + 2

  void fields(Fields& f) {
    f("preds", unweighted.preds)("target", unweighted.target);
    f("histogram", unweighted.histogram)("places", unweighted.places);
    f("weighted_preds", weighted.preds)("weighted_target", weighted.target);
    f("weighted_histogram", weighted.histogram);
    f("weighted_places", weighted.places)("weights", weights);
    f("curves", curves, Merge::kMax)("columns", columns, Merge::kMax);
  }
  void compact();
  /// The histograms with the places counted, undefined if there are neither.
  /// They may be the state's own, and are with `in_place`.
  at::Tensor counted(bool in_place = false) const;
  at::Tensor weighted_counted(bool in_place = false) const;
};

namespace internal::classification {

/// A histogram that has as many buckets for each place costs more than to note
/// the places.
inline constexpr std::int64_t kBucketsPerPlace = 8;

}  // namespace internal::classification
}  // namespace tally
