#include "tally/metrics/resampling/poisson_count.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tally/metrics/common/distributions.h"

namespace tally::internal::intervals {
namespace {

// Cumulative probabilities in 2^-32, by basic arithmetic alone: library
// functions differ between machines.
std::vector<std::uint32_t> make_thresholds(std::int64_t mean) {
  constexpr double kInverseE = 0.36787944117144232160;
  constexpr double kScale = 4294967296.0;
  double probability = 1;
  for (std::int64_t i = 0; i < mean; ++i) probability *= kInverseE;
  double sum = probability;
  std::vector<std::uint32_t> thresholds;
  for (std::int64_t k = 1; sum * kScale + 0.5 < kScale; ++k) {
    thresholds.push_back(static_cast<std::uint32_t>(sum * kScale + 0.5));
    probability *= static_cast<double>(mean) / static_cast<double>(k);
    // Rounding may leave the sum below 1 forever.
    if (k > mean && probability * kScale < 1e-3) break;
    sum += probability;
  }
  return thresholds;
}

const std::vector<std::uint32_t>& thresholds_of(std::int64_t mean) {
  static const auto* const kTables = [] {
    auto* const tables =
        new std::array<std::vector<std::uint32_t>, kMostExact + 1>();
    for (std::int64_t i = 1; i <= kMostExact; ++i) {
      (*tables)[static_cast<std::size_t>(i)] = make_thresholds(i);
    }
    return tables;
  }();
  return (*kTables)[static_cast<std::size_t>(mean)];
}

}  // namespace

double poisson_count(std::int64_t count, const PhiloxCounter& words) {
  if (count <= 0) return 0;
  if (count <= kMostExact) {
    const auto& thresholds = thresholds_of(count);
    return static_cast<double>(
        std::upper_bound(thresholds.begin(), thresholds.end(), words[0]) -
        thresholds.begin());
  }
  const double uniform = (static_cast<double>(words[0]) * 4294967296.0 +
                          static_cast<double>(words[1]) + 0.5) *
                         0x1p-64;
  const double z = normal_quantile(std::min(uniform, 1 - 0x1p-53));
  const auto mean = static_cast<double>(count);
  return std::max(0.0, mean + std::sqrt(mean) * z + (z * z - 1) / 6);
}

}  // namespace tally::internal::intervals
