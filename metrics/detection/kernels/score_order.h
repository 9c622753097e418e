#pragma once

#include <cstdint>
#include <cstring>

namespace tally::internal::detection {

/// A key that ascends as scores descend; 0 and -0 are equal.
inline std::uint64_t descending(double score) {
  if (score == 0) score = 0;
  std::uint64_t bits;
  std::memcpy(&bits, &score, sizeof(bits));
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return bits & kSign ? bits : ~(bits | kSign);
}

inline std::int64_t bits_of(double score) {
  std::int64_t bits;
  std::memcpy(&bits, &score, sizeof(bits));
  return bits;
}
inline double score_of(std::int64_t bits) {
  double score;
  std::memcpy(&score, &bits, sizeof(score));
  return score;
}

}  // namespace tally::internal::detection
