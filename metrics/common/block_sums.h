#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally::internal {

/// Elements that one thread sums at a time. Fixed, so that sums do not depend
/// on the number of threads.
inline constexpr std::int64_t kSumBlock = 1 << 16;

/// `sums_of(begin, end)` over blocks, added in order by +=. For sources
/// compiled with -fopenmp.
template <class SumsOf>
auto sum_blocks(std::int64_t count, const SumsOf& sums_of) {
  using Sums = decltype(sums_of(count, count));
  if (count <= kSumBlock) return sums_of(std::int64_t{0}, count);
  const std::int64_t blocks = (count + kSumBlock - 1) / kSumBlock;
  std::vector<Sums> parts(static_cast<std::size_t>(blocks));
  at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      parts[i] = sums_of(i * kSumBlock, std::min(count, (i + 1) * kSumBlock));
    }
  });
  Sums total;
  for (const Sums& part : parts) total += part;
  return total;
}

}  // namespace tally::internal
