#include "tally/metrics/segmentation/average_symmetric_surface_distance.h"

#include <cstddef>
#include <limits>

#include "tally/metrics/segmentation/states/surface_scores_impl.h"

namespace tally {

namespace segmentation = internal::segmentation;

void AverageSymmetricSurfaceDistanceOptions::validate(
    const char* metric) const {
  SurfaceKindOptions::validate(metric);
  segmentation::check_empty_penalty(metric, empty_penalty_);
}

double AverageDistance::operator()(const segmentation::SurfacePair& pair,
                                   at::IntArrayRef) const {
  double sum = 0, all = 0;
  for (const auto* const points : {&pair.preds, &pair.target}) {
    for (std::size_t i = 0; i < points->distances.size(); ++i) {
      sum += points->size(i) * points->distances[i];
      all += points->size(i);
    }
  }
  return sum / all;
}

template class SurfaceScores<AverageDistance>;

SegmentationScore AverageSymmetricSurfaceDistance::evaluate(
    const State& state) const {
  return segmentation::score_of(state, options(),
                                options().empty_penalty().value_or(
                                    std::numeric_limits<double>::infinity()));
}

}  // namespace tally
