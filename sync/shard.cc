#include "tally/sync/shard.h"

#include <c10/util/Exception.h>

#include <algorithm>

namespace tally::sync {
namespace {

void check_samples(std::int64_t samples) {
  TORCH_CHECK_VALUE(samples >= 0, "expected a number of samples, got ",
                    samples);
}

}  // namespace

std::vector<std::int64_t> shard_indices(std::int64_t samples,
                                        const Communicator& communicator) {
  check_samples(samples);
  std::vector<std::int64_t> indices;
  indices.reserve(samples / communicator.size() + 1);
  for (std::int64_t i = communicator.rank(); i < samples;
       i += communicator.size()) {
    indices.push_back(i);
  }
  return indices;
}

ShardRange shard_range(std::int64_t samples, const Communicator& communicator) {
  check_samples(samples);
  const std::int64_t each = samples / communicator.size();
  const std::int64_t longer = samples % communicator.size();
  const auto begin_of = [&](std::int64_t rank) {
    return rank * each + std::min(rank, longer);
  };
  const std::int64_t rank = communicator.rank();
  return {begin_of(rank), begin_of(rank + 1)};
}

}  // namespace tally::sync
