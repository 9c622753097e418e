#include "tally/metrics/detection/generalized_intersection_over_union.h"

namespace tally {

Results GeneralizedIntersectionOverUnion::evaluate(const State& state) const {
  return internal::detection::overlap_results(state, BoxOverlap::kGIoU,
                                              options());
}

}  // namespace tally
