#pragma once

#include <cstdint>

/// Distances from a few points to many, in vectors: differences are taken
/// directly, so that points far from 0 and near each other lose nothing.
namespace tally::internal::clustering {

/// As many points lie together, as [dims, kBlock].
inline constexpr std::int64_t kBlock = 16;
/// Distances are taken from so many points at a time.
inline constexpr std::int64_t kGroup = 4;

enum class Distance {
  kEuclidean,
  kSquared,    // Euclidean
  kManhattan,  // the sum of absolute differences
  kMaximum,    // the largest of them
};

/// From each of kGroup points, which may be the same ones, to the points of a
/// block, as [kGroup, kBlock].
void block_distances(Distance distance, const double* const* points,
                     const double* block, std::int64_t dims, double* distances);

/// The sums of the distances from each of kGroup points to `count` points,
/// which fill blocks one after another, as [kGroup].
void sums_of_distances(Distance distance, const double* const* points,
                       const double* blocks, std::int64_t count,
                       std::int64_t dims, double* sums);

}  // namespace tally::internal::clustering
