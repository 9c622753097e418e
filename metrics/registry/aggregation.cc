#include "tally/metrics/aggregation/aggregation.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_aggregation(Registry& r) {
  r.add<SumMetric>({"The sum of all values.", "any"});
  r.add<MeanMetric>({"The weighted mean of all values.", "any"});
  r.add<MinMetric>({"The smallest of all values.", "any"});
  r.add<MaxMetric>({"The largest of all values.", "any"});
  r.add<CatMetric>({"All values, one after the other.", "any"});
  r.add<RunningMean>({"The weighted mean over the last batches.", "any"});
  r.add<RunningSum>({"The sum over the last batches.", "any"});
}

}  // namespace tally::internal
