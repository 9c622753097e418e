#pragma once

#include <cstdint>
#include <vector>

#include "tally/sync/communicator.h"

/// How the samples of a data set are dealt to ranks so that each is seen
/// exactly once. Nothing is repeated to make the shards equal, as that would
/// count samples twice: shards differ by at most one sample, and are empty
/// where there are more ranks than samples.
namespace tally::sync {

/// This rank's samples when they are dealt in turn: rank, rank + size(), ...
/// below `samples`. Throws c10::ValueError if `samples` is negative.
///
/// Example:
///     for (std::int64_t i : sync::shard_indices(set.size(), *communicator)) {
///       metric.update(model->forward(set.get(i).data), set.get(i).target);
///     }
std::vector<std::int64_t> shard_indices(std::int64_t samples,
                                        const Communicator& communicator);

/// The samples from `begin` up to `end`.
struct ShardRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
};

/// This rank's samples when they are cut into size() pieces, in rank order.
/// Throws c10::ValueError if `samples` is negative.
ShardRange shard_range(std::int64_t samples, const Communicator& communicator);

}  // namespace tally::sync
