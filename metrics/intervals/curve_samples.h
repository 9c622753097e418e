#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tally/metrics/intervals/kernels/curve_kernels.h"
#include "tally/metrics/intervals/proportions.h"
#include "tally/metrics/resampling/replicate_weights.h"
#include "tally/metrics/sampling.h"

namespace tally::internal::intervals {

/// A sample of a binary classifier.
struct CurveSample {
  double score = 0;
  double weight = 1;
  std::int64_t id = 0;  ///< of its row
  bool is_positive = false;
};

/// Whether no score is NaN, and weights are finite numbers of 0 or more.
bool are_numbers(const std::vector<CurveSample>& samples);
/// In an order that does not depend on theirs, by score: ascending for kRoc.
void sort_samples(CurveArea kind, std::vector<CurveSample>& samples);

/// Calls use(begin, end) for sorted samples of equal scores.
template <class Use>
void for_each_score(const std::vector<CurveSample>& samples, const Use& use) {
  for (std::size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
    while (end < samples.size() && samples[end].score == samples[begin].score) {
      ++end;
    }
    use(begin, end);
  }
}

/// The area under the curve in each replicate, where a sample's weight is
/// multiplied by that of its row; NaN where it is undefined, and everywhere
/// unless are_numbers(). Samples are sorted once, and their weights made on the
/// fly. Independent of the order of samples, and exact if all have a weight of
/// 1. `stratified`: classes keep the weights of all samples.
std::vector<double> replicate_areas(CurveArea kind,
                                    const ReplicateWeights& weights,
                                    std::vector<CurveSample> samples,
                                    bool stratified = false);

/// The acceleration of the area under the ROC curve for BCa, from what each
/// id's samples contribute to it (DeLong's placements).
double roc_acceleration(std::vector<CurveSample> samples);

/// The area under the ROC curve of samples that belong together by id: its
/// standard error by Obuchowski 1997, and as effective numbers Kish's of the
/// clusters with samples of a class, (sum s)^2 / sum s^2 for s samples each.
struct ClusteredArea {
  AreaEstimate estimate;
  double clusters = 0;
  double deciding = 0;  ///< those with samples of the rarer class
};
ClusteredArea clustered_area(std::vector<CurveSample> samples);

/// The average precision without each of the samples, in one pass; NaN where
/// that is the only positive. Of weighted samples, what a change of a weight
/// would say of it (the infinitesimal jackknife).
struct PrecisionWithoutEach {
  std::vector<double> without;
  std::vector<double> weights;
  double positives = 0;  ///< their effective number
};
PrecisionWithoutEach precision_without_each(std::vector<CurveSample> samples);

}  // namespace tally::internal::intervals
