#include "tally/metrics/detection/distance_intersection_over_union.h"

namespace tally {

Results DistanceIntersectionOverUnion::evaluate(const State& state) const {
  return internal::detection::overlap_results(state, BoxOverlap::kDIoU,
                                              options());
}

}  // namespace tally
