#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tally::testkit::internal {

/// Boundaries that split `total` in proportion to `weights`, at least one of
/// which is positive: one more number than there are weights.
inline std::vector<std::int64_t> cuts(
    std::int64_t total, const std::vector<std::int64_t>& weights) {
  const std::int64_t sum =
      std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  std::vector<std::int64_t> at{0};
  std::int64_t so_far = 0;
  for (const std::int64_t weight : weights) {
    so_far += weight;
    at.push_back(total * so_far / sum);
  }
  return at;
}

/// The sizes of these parts.
inline std::vector<std::int64_t> shares(
    std::int64_t total, const std::vector<std::int64_t>& weights) {
  std::vector<std::int64_t> at = cuts(total, weights);
  for (std::size_t i = 0; i + 1 < at.size(); ++i) at[i] = at[i + 1] - at[i];
  at.pop_back();
  return at;
}

}  // namespace tally::testkit::internal
