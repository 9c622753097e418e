#pragma once

#include <absl/status/status.h>

#include <string>

#include "tally/metrics/core/accumulation.h"
#include "tally/metrics/metric_base.h"

/// Checkpoints of the states of several ranks.
namespace tally::internal {

/// See MetricBase::save and load.
absl::Status save_over_ranks(Accumulation& accumulation,
                             const std::string& path, CheckpointRanks ranks);
absl::Status load_over_ranks(Accumulation& accumulation,
                             const std::string& path, CheckpointRanks ranks);

}  // namespace tally::internal
