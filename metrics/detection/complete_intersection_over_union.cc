#include "tally/metrics/detection/complete_intersection_over_union.h"

namespace tally {

Results CompleteIntersectionOverUnion::evaluate(const State& state) const {
  return internal::detection::overlap_results(state, BoxOverlap::kCIoU,
                                              options());
}

}  // namespace tally
