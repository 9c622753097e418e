#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/state/fields.h"

namespace tally {

/// Samples for the curves of a classifier: without thresholds every score and
/// target, with T thresholds a histogram of the scores.
struct CurveSamples {
  /// float32 or float64, [N] or [N, curves].
  Rows preds;
  /// Binary [N] and multilabel [N, curves]: uint8, 0, 1, or 2 for ignored
  /// positions. Multiclass [N]: int64 classes.
  Rows target;
  /// [curves, 2, T + 2]: for each curve the negatives and positives, by the
  /// number of thresholds reached by the score (score >= threshold, compared in
  /// float64), with NaN at the end. int64 counts, or float64 sums of weights.
  at::Tensor histogram;
  /// int32, places in the histogram that are not yet counted there, so that a
  /// small batch does not cost a large histogram.
  Rows places;

  bool has_rows() const { return preds.defined() || target.defined(); }
};

/// The state of all metrics on the curves of a classifier (ROC,
/// precision-recall, and values derived from them). Batches with weights are
/// stored separately, so that they can be mixed with others.
struct CurveState {
  CurveSamples unweighted;
  CurveSamples weighted;
  /// float64, one per row of weighted.preds, or per element of weighted.places.
  Rows weights;
  std::int64_t curves = 0;   // sizes of the histogram
  std::int64_t columns = 0;  // T + 2
  /// uint8: of exact curves without weights, the rows before those of
  /// unweighted, as sorted tables of counts (see curves/score_runs.h). Many
  /// rows of float32 on the CPU become runs.
  Rows runs;
  /// Whether rows remain rows. No field: an option of the metric.
  bool keeps_rows = false;

  void fields(Fields& f) {
    f("preds", unweighted.preds)("target", unweighted.target);
    f("histogram", unweighted.histogram)("places", unweighted.places);
    f("weighted_preds", weighted.preds)("weighted_target", weighted.target);
    f("weighted_histogram", weighted.histogram);
    f("weighted_places", weighted.places)("weights", weights);
    f("curves", curves, Merge::kMax)("columns", columns, Merge::kMax);
    f.later("score_runs", runs);
  }
  void compact();
  /// Leaves no rows beside runs.
  void pack();
  /// The histograms including the places, undefined if there are neither. May
  /// be the state's own, and always is with `in_place`.
  at::Tensor counted(bool in_place = false) const;
  at::Tensor weighted_counted(bool in_place = false) const;
};

namespace internal::classification {

/// With more bins per place than this, a histogram costs more than storing the
/// places.
inline constexpr std::int64_t kBucketsPerPlace = 8;

}  // namespace internal::classification
}  // namespace tally
