#include "tally/metrics/clustering/kernels/extreme_distances.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

namespace tally::internal::clustering {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::optional<Distance> kernel_of(double p) {
  if (p == 1) return Distance::kManhattan;
  if (p == 2) return Distance::kSquared;
  if (p == kInfinity) return Distance::kMaximum;
  return std::nullopt;
}

// Distances are compared before their root is taken.
double power_of(const double* a, const double* b, std::int64_t dims, double p) {
  double sum = 0;
  for (std::int64_t i = 0; i < dims; ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (p == kInfinity) {
      sum = std::max(sum, difference);
    } else if (p == 1) {
      sum += difference;
    } else if (p == 2) {
      sum += difference * difference;
    } else {
      sum += std::pow(difference, p);
    }
  }
  return sum;
}

double root_of(double power, double p) {
  if (p == 1 || p == kInfinity) return power;
  return p == 2 ? std::sqrt(power) : std::pow(power, 1 / p);
}

Extreme none_least() { return {kInfinity, 0, 0}; }
Extreme none_largest() { return {-1, 0, 0}; }

void keep_least(Extreme& kept, const Extreme& other) {
  if (std::tie(other.distance, other.a, other.b) <
      std::tie(kept.distance, kept.a, kept.b)) {
    kept = other;
  }
}
void keep_largest(Extreme& kept, const Extreme& other) {
  if (std::tie(kept.distance, other.a, other.b) <
      std::tie(other.distance, kept.a, kept.b)) {
    kept = other;
  }
}

// visit(i, j, power) of points i and all j > i, and perhaps of others. `i` is
// one of the points from `begin` to `end`, multiples of kGroup.
template <class Visit>
void for_each_pair(const double* points, const PointBlocks& blocks,
                   std::int64_t dims, double p, std::int64_t begin,
                   std::int64_t end, const Visit& visit) {
  const std::int64_t count = blocks.count();
  const std::optional<Distance> kernel = kernel_of(p);
  double powers[kGroup * kBlock];
  for_each_group(
      points, count, dims, begin, end,
      [&](std::int64_t first, const double* const* group) {
        const std::int64_t last = std::min(first + kGroup, count);
        for (std::int64_t from = first / kBlock * kBlock; from < count;
             from += kBlock) {
          const std::int64_t to = std::min(from + kBlock, count);
          if (kernel) {
            block_distances(*kernel, group, blocks.block(from / kBlock), dims,
                            powers);
          }
          for (std::int64_t i = first; i < last; ++i) {
            for (std::int64_t j = std::max(from, i + 1); j < to; ++j) {
              visit(i, j,
                    kernel ? powers[(i - first) * kBlock + j - from]
                           : power_of(group[i - first], points + j * dims, dims,
                                      p));
            }
          }
        }
      });
}

}  // namespace

double distance_of(const double* a, const double* b, std::int64_t dims,
                   double p) {
  return root_of(power_of(a, b, dims, p), p);
}

Extreme least_distance(const double* points, std::int64_t count,
                       std::int64_t dims, double p) {
  const PointBlocks blocks(points, count, dims);
  Extreme least = none_least();
  for_each_pair(points, blocks, dims, p, 0, count,
                [&](std::int64_t i, std::int64_t j, double power) {
                  keep_least(least, {power, i, j});
                });
  least.distance = root_of(least.distance, p);
  return least;
}

Extreme largest_to_centroid(const PointClusters& clusters,
                            const Centroids& centroids, double p) {
  Extreme largest = none_largest();
  for (std::int64_t k = 0; k < clusters.clusters(); ++k) {
    for (auto i = clusters.begins[k]; i < clusters.begins[k + 1]; ++i) {
      keep_largest(largest, {power_of(clusters.point(i), centroids.centroid(k),
                                      clusters.dims, p),
                             i, k});
    }
  }
  largest.distance = root_of(largest.distance, p);
  return largest;
}

PairExtremes extremes_of_pairs(const PointClusters& clusters, double p) {
  const std::int64_t count = clusters.begins.back();
  const PointBlocks blocks(clusters.points.data(), count, clusters.dims);
  std::vector<std::int64_t> cluster_of;
  for (std::int64_t k = 0; k < clusters.clusters(); ++k) {
    cluster_of.resize(static_cast<std::size_t>(clusters.begins[k + 1]), k);
  }
  PairExtremes all{none_least(), none_largest()};
  // One of a point and itself, where no cluster has two.
  keep_largest(all.largest_inside, {0, 0, 0});
  std::mutex mutex;
  const std::int64_t groups = (count + kGroup - 1) / kGroup;
  at::parallel_for(
      0, groups, /*grain_size=*/16, [&](std::int64_t begin, std::int64_t end) {
        PairExtremes own{none_least(), none_largest()};
        for_each_pair(clusters.points.data(), blocks, clusters.dims, p,
                      begin * kGroup, std::min(end * kGroup, count),
                      [&](std::int64_t i, std::int64_t j, double power) {
                        if (cluster_of[i] == cluster_of[j]) {
                          keep_largest(own.largest_inside, {power, i, j});
                        } else {
                          keep_least(own.least_between, {power, i, j});
                        }
                      });
        const std::lock_guard lock(mutex);
        keep_least(all.least_between, own.least_between);
        keep_largest(all.largest_inside, own.largest_inside);
      });
  all.least_between.distance = root_of(all.least_between.distance, p);
  all.largest_inside.distance = root_of(all.largest_inside.distance, p);
  return all;
}

}  // namespace tally::internal::clustering
