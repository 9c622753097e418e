#pragma once

#include <cstdint>
#include <vector>

#include "tally/metrics/intervals/kernels/curve_kernels.h"
#include "tally/metrics/resampling/replicate_weights.h"

namespace tally::internal::intervals {

/// A sample of a binary classifier.
struct CurveSample {
  double score = 0;
  double weight = 1;
  std::int64_t id = 0;  ///< of its row
  bool is_positive = false;
};

/// The area under the curve in each replicate, where a sample's weight is
/// multiplied by that of its row; NaN where it is undefined, and everywhere if
/// a score is NaN or a weight is no finite number of 0 or more. Samples are
/// sorted once, and their weights made on the fly. Independent of the order of
/// samples, and exact if all have a weight of 1.
std::vector<double> replicate_areas(CurveArea kind,
                                    const ReplicateWeights& weights,
                                    std::vector<CurveSample> samples);

/// The acceleration of the area under the ROC curve for BCa, from what each
/// id's samples contribute to it (DeLong's placements).
double roc_acceleration(std::vector<CurveSample> samples);

}  // namespace tally::internal::intervals
