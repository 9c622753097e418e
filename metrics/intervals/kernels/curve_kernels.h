#pragma once

#include <cstdint>

#include "tally/metrics/curve_area.h"

/// Areas under the curves of replicates: one pass over sorted samples with
/// running sums for each replicate.
namespace tally::internal::intervals {

/// What ends with a sample, and what it is.
enum SampleMark : std::uint8_t {
  kIsPositive = 1,
  /// The last sample of a step: negatives, then positives.
  kEndsStep = 2,
  /// The scores of the step are equal.
  kIsTied = 4,
};

/// Running sums, one for each replicate.
struct CurveSums {
  double* positives;  ///< those before the step
  double* negatives;
  double* step_positives;  ///< those of the step, from earlier samples
  double* step_negatives;
  double* area;
  /// What negatives count beside positives; null: 1. For kPrecisionRecall.
  const double* negative_factors = nullptr;
};

/// So many samples can be added together: their weights, of up to 8, fit a
/// byte.
inline constexpr std::int64_t kMostSamples = 31;

/// Adds up to kMostSamples samples, sorted by the area that is summed. kRoc: by
/// ascending score; pairs of a positive and a negative in order, ties counting
/// half. A step ends before negatives that follow positives, and before and
/// after tied samples of both classes, of which the negatives come first.
/// kPrecisionRecall: by descending score; the precision at each positive. A
/// step ends after the samples with the score of a positive.
///
/// They come with a row of `stride` weights for each, a
/// multiple of 128. `factors` are the samples' own weights; null if all are 1,
/// which is exact below 2^52 pairs. `continues`: whether the step began
/// earlier.
void add_samples(CurveArea kind, const std::uint8_t* weights,
                 const std::uint8_t* marks, const double* factors,
                 std::int64_t count, std::int64_t stride, bool continues,
                 const CurveSums& sums);

}  // namespace tally::internal::intervals
