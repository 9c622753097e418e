#pragma once

#include <absl/status/status.h>

#include <string>
#include <vector>

#include "tally/metrics/checkpoint/checkpoint.h"

/// What ranks must have in common besides their states: where each row goes on,
/// and rows that are not collected.
namespace tally::internal {

/// This rank's.
std::string encode_place(const CheckpointRows& rows);

/// Given all ranks', every rank goes on where the one that is ahead does.
absl::Status go_on_after(const std::vector<std::string>& notes,
                         CheckpointRows& rows);

}  // namespace tally::internal
