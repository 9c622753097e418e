#pragma once

#include "tally/metrics/metric_options.h"

namespace tally::internal {

/// Whether any option for syncing is set; these have no effect for a metric in
/// a collection or an expression.
inline bool has_sync_options(const MetricOptions& options) {
  const MetricOptions defaults;
  return options.dist_sync_on_step() != defaults.dist_sync_on_step() ||
         options.sync_on_compute() != defaults.sync_on_compute() ||
         options.compute_with_cache() != defaults.compute_with_cache() ||
         options.communicator() != defaults.communicator() ||
         options.gradient_flow() != defaults.gradient_flow() ||
         options.sync_timeout() != defaults.sync_timeout();
}

/// The other options, which control how a metric handles its inputs.
inline MetricOptions without_sync_options(const MetricOptions& options) {
  return MetricOptions()
      .validate_args(options.validate_args())
      .nan_policy(options.nan_policy())
      .compute_on_cpu(options.compute_on_cpu());
}

}  // namespace tally::internal
