#include "tally/metrics/owned_metric.h"

#include <c10/util/Exception.h>

namespace tally {

std::unique_ptr<Metric> OwnedMetric::take(const char* owner) {
  TORCH_CHECK_VALUE(metric_, owner, ": expected a metric, got null");
  TORCH_CHECK_VALUE(metric_->status() == MetricStatus::kEmpty, owner,
                    ": expected a metric that has accumulated nothing, got ",
                    metric_->repr(), " whose update_count is ",
                    metric_->update_count());
  return std::move(metric_);
}

}  // namespace tally
