#pragma once

#include <cstdint>
#include <vector>

#include "tally/sync/communicator.h"

/// Assigns each sample of a data set to exactly one rank. No sample is repeated
/// to make the shards equal, as it would be counted twice: shards differ by at
/// most one sample, and some are empty if there are more ranks than samples.
namespace tally::sync {

/// This rank's samples if they are assigned round-robin: rank, rank + size(),
/// ... below `samples`. Throws c10::ValueError if `samples` is negative.
///
/// Example:
///     for (std::int64_t i : sync::shard_indices(x.size(0), *communicator)) {
///       metric.update(model->forward(x.narrow(0, i, 1)), y.narrow(0, i, 1));
///     }
std::vector<std::int64_t> shard_indices(std::int64_t samples,
                                        const Communicator& communicator);

/// The samples [begin, end).
struct ShardRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
};

/// This rank's samples if they are split into size() contiguous parts, in rank
/// order. Throws c10::ValueError if `samples` is negative.
ShardRange shard_range(std::int64_t samples, const Communicator& communicator);

}  // namespace tally::sync
