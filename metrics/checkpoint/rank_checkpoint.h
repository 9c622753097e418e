#pragma once

#include <absl/status/status.h>

#include <string>

#include "tally/metrics/core/accumulation.h"
#include "tally/metrics/metric_base.h"

/// Checkpoints of the states of several ranks.
namespace tally::internal {

/// See MetricBase::save, load and spec.
absl::Status save_over_ranks(Accumulation& accumulation,
                             const std::string& spec, const std::string& path,
                             CheckpointRanks ranks, StatePart part);
absl::Status load_over_ranks(Accumulation& accumulation,
                             const std::string& path, CheckpointRanks ranks);

}  // namespace tally::internal
