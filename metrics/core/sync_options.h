#pragma once

#include "tally/metrics/metric_options.h"

namespace tally::internal {

inline bool same_sync_options(const MetricOptions& a, const MetricOptions& b) {
  return a.dist_sync_on_step() == b.dist_sync_on_step() &&
         a.sync_on_compute() == b.sync_on_compute() &&
         a.compute_with_cache() == b.compute_with_cache() &&
         a.communicator() == b.communicator() &&
         a.gradient_flow() == b.gradient_flow() && a.timeout() == b.timeout();
}

/// Whether any option for syncing is set; these have no effect for a metric in
/// a collection or an expression.
inline bool has_sync_options(const MetricOptions& options) {
  return !same_sync_options(options, MetricOptions());
}

/// The other options, which control how a metric handles its inputs.
inline MetricOptions without_sync_options(const MetricOptions& options) {
  return MetricOptions()
      .validate_args(options.validate_args())
      .nan_policy(options.nan_policy())
      .compute_on_cpu(options.compute_on_cpu());
}

}  // namespace tally::internal
