#pragma once

#include <cstdint>
#include <cstring>

namespace tally::internal::classification {

/// An unsigned number with the order of the floating-point one. Both zeros map
/// to the same number. REQUIRES: score is not NaN.
inline std::uint32_t ordered(float score) {
  score += 0.0f;
  std::uint32_t bits;
  std::memcpy(&bits, &score, sizeof(bits));
  return bits ^ (bits >> 31 ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
}
inline std::uint64_t ordered(double score) {
  score += 0.0;
  std::uint64_t bits;
  std::memcpy(&bits, &score, sizeof(bits));
  return bits ^ (bits >> 63 ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}
/// The score with this position in the order.
inline double unordered(std::uint32_t key) {
  const std::uint32_t bits =
      key ^ (key >> 31 ? std::uint32_t{1} << 31 : ~std::uint32_t{0});
  float score;
  std::memcpy(&score, &bits, sizeof(bits));
  return score;
}
inline double unordered(std::uint64_t key) {
  const std::uint64_t bits =
      key ^ (key >> 63 ? std::uint64_t{1} << 63 : ~std::uint64_t{0});
  double score;
  std::memcpy(&score, &bits, sizeof(bits));
  return score;
}

}  // namespace tally::internal::classification
