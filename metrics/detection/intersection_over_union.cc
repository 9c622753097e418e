#include "tally/metrics/detection/intersection_over_union.h"

#include "tally/metrics/detection/complete_intersection_over_union.h"
#include "tally/metrics/detection/distance_intersection_over_union.h"
#include "tally/metrics/detection/generalized_intersection_over_union.h"

namespace tally {

Results IntersectionOverUnion::evaluate(const State& state) const {
  return internal::detection::overlap_results(state, BoxOverlap::kIoU,
                                              options());
}

Results GeneralizedIntersectionOverUnion::evaluate(const State& state) const {
  return internal::detection::overlap_results(state, BoxOverlap::kGIoU,
                                              options());
}

Results DistanceIntersectionOverUnion::evaluate(const State& state) const {
  return internal::detection::overlap_results(state, BoxOverlap::kDIoU,
                                              options());
}

Results CompleteIntersectionOverUnion::evaluate(const State& state) const {
  return internal::detection::overlap_results(state, BoxOverlap::kCIoU,
                                              options());
}

template class MetricOf<CompleteIntersectionOverUnion,
                        OverlapSums<BoxOverlap::kCIoU>, Results>;
template class MetricOf<DistanceIntersectionOverUnion,
                        OverlapSums<BoxOverlap::kDIoU>, Results>;
template class MetricOf<GeneralizedIntersectionOverUnion,
                        OverlapSums<BoxOverlap::kGIoU>, Results>;
template class MetricOf<IntersectionOverUnion, OverlapSums<BoxOverlap::kIoU>,
                        Results>;

}  // namespace tally
