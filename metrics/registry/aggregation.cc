#include "tally/metrics/aggregation/aggregation.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_aggregation(Registry& r) {
  const char* values = "value: real [...]";
  r.add<SumMetric>({"The sum of all values.", values, "any"});
  const char* weighted = "value: real [...]; weight?: real [...]";
  r.add<MeanMetric>({"The weighted mean of all values.", weighted, "any"});
  r.add<MinMetric>({"The smallest of all values.", values, "any"});
  r.add<MaxMetric>({"The largest of all values.", values, "any"});
  r.add<CatMetric>({"All values, one after the other.", values, "any"});
  r.add<RunningMean>(
      {"The weighted mean over the last batches.", weighted, "any"});
  r.add<RunningSum>({"The sum over the last batches.", values, "any"});
}

}  // namespace tally::internal
