#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

namespace tally::internal {

/// Calls run(begin, end) for parts of 0 to count - 1 on several threads, so
/// that LibTorch uses a single one within each, for one part, too: its sums of
/// many numbers depend on the number of threads. Its products of matrices and
/// its Fourier transforms do so even here, as MKL distinguishes one thread from
/// one of several.
template <class Run>
void one_thread_each(std::int64_t count, const Run& run) {
  at::parallel_for(0, std::max<std::int64_t>(count, 2), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     run(begin, std::min(end, count));
                   });
}

}  // namespace tally::internal
