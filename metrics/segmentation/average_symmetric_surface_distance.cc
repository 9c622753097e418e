#include "tally/metrics/segmentation/average_symmetric_surface_distance.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "tally/metrics/segmentation/states/surface_scores_impl.h"

namespace tally {

namespace segmentation = internal::segmentation;

void AverageSymmetricSurfaceDistanceOptions::validate(
    const char* metric) const {
  SurfaceKindOptions::validate(metric);
  TORCH_CHECK_VALUE(!empty_penalty_ || !std::isnan(*empty_penalty_), metric,
                    ": expected an empty_penalty, got NaN");
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
  const AverageSymmetricSurfaceDistanceOptions& o = options();
  return segmentation::with_cases(
      segmentation::mean_of_cases(
          state,
          {o.empty_penalty().value_or(std::numeric_limits<double>::infinity()),
           o.absent()},
          o.per_class(),
          segmentation::counted_classes(o.num_classes(),
                                        o.include_background())),
      o.count_cases());
}

}  // namespace tally
