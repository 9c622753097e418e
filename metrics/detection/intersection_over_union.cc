#include "tally/metrics/detection/intersection_over_union.h"

namespace tally {

Results IntersectionOverUnion::evaluate(const State& state) const {
  return internal::detection::overlap_results(state, BoxOverlap::kIoU,
                                              options());
}

}  // namespace tally
