#include "tally/metrics/regression/regression.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_regression(Registry& r) {
  const char* pair = "preds: real [N, ...]; target: real [N, ...]";
  r.add<MeanSquaredError>(
      {"The mean of squared differences, or its root.", pair, "[0, inf)"});
  r.add<PearsonCorrCoef>(
      {"How linearly predictions and targets depend.", pair, "[-1, 1]"});
}

}  // namespace tally::internal
