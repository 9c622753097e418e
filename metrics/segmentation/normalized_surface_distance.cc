#include "tally/metrics/segmentation/normalized_surface_distance.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <cstddef>

#include "tally/metrics/segmentation/states/surface_scores_impl.h"

namespace tally {

namespace segmentation = internal::segmentation;

void NormalizedSurfaceDistanceOptions::validate(const char* metric) const {
  SurfaceKindOptions::validate(metric);
  TORCH_CHECK_VALUE(tolerance_ >= 0 && std::isfinite(tolerance_), metric,
                    ": expected a finite tolerance of at least 0, got ",
                    tolerance_);
}

double NearFraction::operator()(const segmentation::SurfacePair& pair,
                                at::IntArrayRef) const {
  const double most = tolerance_ * segmentation::kToleranceSlack;
  double near = 0, all = 0;
  for (const auto* const points : {&pair.preds, &pair.target}) {
    for (std::size_t i = 0; i < points->distances.size(); ++i) {
      const double size = points->size(i);
      if (points->distances[i] <= most) near += size;
      all += size;
    }
  }
  return near / all;
}

template class SurfaceScores<NearFraction>;

SegmentationScore NormalizedSurfaceDistance::evaluate(
    const State& state) const {
  return segmentation::score_of(state, options(), /*one_sided=*/0);
}

}  // namespace tally
