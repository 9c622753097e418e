#pragma once

#include <cstdint>

#include "tally/metrics/intervals/kernels/philox.h"

namespace tally::internal::intervals {

/// The Poisson weights of one block.
inline void poisson_block(const PhiloxCounter& words, std::uint8_t* weights) {
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t bits = words[i / 2] >> (16 * (i % 2)) & 0xffff;
    weights[i] = 0;
    for (const std::uint32_t threshold : kPoissonThresholds) {
      weights[i] += bits >= threshold;
    }
  }
}

/// The Poisson weights of an id in blocks [0, blocks) of a stream: 8 for each.
void poisson_weights(PhiloxKey key, PhiloxStream stream, std::int64_t id,
                     std::int64_t blocks, std::uint8_t* weights);

/// Adds factor * weight to each sum.
void add_weights(const std::uint8_t* weights, std::int64_t count, double factor,
                 double* sums);

}  // namespace tally::internal::intervals
