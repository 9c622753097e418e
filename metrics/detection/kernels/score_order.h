#pragma once

#include <c10/util/bit_cast.h>

#include <cstdint>

#include "tally/metrics/common/ordered_bits.h"

namespace tally::internal::detection {

/// A key that ascends as scores descend; 0 and -0 are equal.
inline std::uint64_t descending(double score) { return ~ordered_bits(score); }

inline std::int64_t bits_of(double score) {
  return c10::bit_cast<std::int64_t>(score);
}
inline double score_of(std::int64_t bits) {
  return c10::bit_cast<double>(bits);
}

}  // namespace tally::internal::detection
