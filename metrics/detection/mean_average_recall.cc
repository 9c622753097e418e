#include "tally/metrics/detection/mean_average_recall.h"

#include <vector>

#include "tally/metrics/detection/curves/curve_means.h"
#include "tally/metrics/detection/curves/distinct_rows.h"
#include "tally/metrics/detection/curves/precision_curves.h"
#include "tally/state/number.h"

namespace tally {

namespace detection = internal::detection;

at::Tensor MeanAverageRecall::evaluate(const State& state) const {
  const detection::MatchRules matches = options().rules();
  detection::DistinctRows rows = detection::distinct_rows(
      state, matches.areas.size(), matches.thresholds.size());
  const bool is_pooled = options().average() == DetectionAverage::kMicro;
  std::vector<detection::ClassRows> pool;
  if (is_pooled && !rows.classes.empty()) pool.push_back(rows.pooled());
  const detection::PrecisionCurves curves = detection::precision_curves(
      rows, is_pooled ? pool : rows.classes,
      {/*recalls=*/{}, {options().depths().back()}});
  return internal::scalar_tensor(detection::mean_of(curves.recall, {}));
}

}  // namespace tally
