// Where these headers lay before 0.1.0, until 0.2.0: that they are found is all
// there is to test.
#include <cstdint>
#include <vector>

#include "tally/compat/names.h"
#include "tally/metrics/classification/options/average.h"
#include "tally/metrics/classification/options/score_kind.h"
#include "tally/metrics/intervals/replicate_weights.h"
#include "tally/metrics/intervals/sample_ids.h"
#include "tally/metrics/metric_base.h"
#include "tally/metrics/slice_comparison.h"
#include "tally/metrics/slice_keys.h"
#include "tally/metrics/sliced_metric.h"

namespace tally {

Average average_of_moved_headers() { return Average::kMacro; }
MetricState status_before_updates() { return MetricStatus::kEmpty; }
ScoreKind kind_of_moved_headers() { return ScoreKind::kLogits; }
SampleIds ids_of_moved_headers() {
  return SampleIds(std::vector<std::int64_t>());
}
ReplicateWeights* weights_of_moved_headers() { return nullptr; }
SlicedMetric* slices_of_moved_headers() { return nullptr; }
Slice* slice_until_0_2_0() { return nullptr; }
losses::CrossEntropyLoss* loss_until_0_2_0() { return nullptr; }
SliceComparison* comparison_of_moved_headers() { return nullptr; }

}  // namespace tally
