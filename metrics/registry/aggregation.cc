#include "tally/metrics/aggregation/aggregation.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_aggregation(Registry& r) {
  r.add<SumMetric>({"Sum of all values.", "any"});
  r.add<MeanMetric>({"Weighted mean of all values.", "any"});
  r.add<MinMetric>({"Smallest of all values.", "any"});
  r.add<MaxMetric>({"Largest of all values.", "any"});
  r.add<CatMetric>({"Concatenation of all values.", "any"});
  r.add<RunningMean>({"Weighted mean over the last batches.", "any"});
  r.add<RunningSum>({"Sum over the last batches.", "any"});
}

}  // namespace tally::internal
