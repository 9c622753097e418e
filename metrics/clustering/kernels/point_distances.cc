#include "tally/metrics/clustering/kernels/point_distances.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "tally/metrics/clustering/kernels/point_clusters.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/tables/label_places.h"

namespace tally::internal::clustering {
namespace {

std::optional<Distance> kernel_of(double p) {
  if (p == 1) return Distance::kManhattan;
  if (p == 2) return Distance::kSquared;
  if (p == kInfinity) return Distance::kMaximum;
  return std::nullopt;
}

// Distances are compared before their root is taken.
double power_of(const double* a, const double* b, std::int64_t dims, double p) {
  if (p == 2) {
    return sum_terms(
        dims, [=](std::int64_t i) { return (a[i] - b[i]) * (a[i] - b[i]); });
  }
  if (p == 1) {
    return sum_terms(dims,
                     [=](std::int64_t i) { return std::abs(a[i] - b[i]); });
  }
  double sum = 0;
  for (std::int64_t i = 0; i < dims; ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (p == kInfinity) {
      sum = std::max(sum, difference);
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

// Clusters of fewer points would leave blocks of their own half empty.
constexpr std::int64_t kPointsPerCluster = 2 * kBlock;

// Of a point of `own`, by the sums of its distances to the points of each
// cluster. 0 of a cluster of one, and where all distances are 0.
double silhouette(const PointClusters& clusters, std::int64_t own,
                  const double* sums) {
  const std::int64_t size = clusters.size(own);
  if (size == 1) return 0;
  const double inside = sums[own] / static_cast<double>(size - 1);
  double outside = kInfinity;
  for (std::int64_t k = 0; k < clusters.clusters(); ++k) {
    if (k == own) continue;
    outside =
        std::min(outside, sums[k] / static_cast<double>(clusters.size(k)));
  }
  const double larger = std::max(inside, outside);
  return larger == 0 ? 0 : (outside - inside) / larger;
}

// `sums_of(group, sums)` sets sums [kGroup, clusters] of kGroup points.
template <class SumsOf>
double mean_of(const PointClusters& clusters, const SumsOf& sums_of) {
  const std::int64_t count = clusters.begins.back();
  const std::int64_t groups = (count + kGroup - 1) / kGroup;
  std::vector<double> values(static_cast<std::size_t>(count));
  at::parallel_for(
      0, groups, /*grain_size=*/16, [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> sums(
            static_cast<std::size_t>(kGroup * clusters.clusters()));
        std::int64_t own = 0;
        for_each_group(
            clusters.points.data(), count, clusters.dims, begin * kGroup,
            end * kGroup, [&](std::int64_t first, const double* const* group) {
              sums_of(group, sums.data());
              for (std::int64_t i = 0; i < kGroup && first + i < count; ++i) {
                while (clusters.begins[own + 1] <= first + i) ++own;
                values[first + i] = silhouette(
                    clusters, own, sums.data() + i * clusters.clusters());
              }
            });
      });
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(count);
}

// Blocks hold points of several clusters.
double mean_of_small_clusters(const PointClusters& clusters) {
  const std::int64_t count = clusters.begins.back();
  const PointBlocks blocks(clusters.points.data(), count, clusters.dims);
  return mean_of(clusters, [&](const double* const* group, double* sums) {
    std::fill_n(sums, kGroup * clusters.clusters(), 0.0);
    double distances[kGroup * kBlock];
    for (std::int64_t k = 0; k < clusters.clusters(); ++k) {
      for (auto j = clusters.begins[k]; j < clusters.begins[k + 1]; ++j) {
        if (j % kBlock == 0) {
          block_distances(Distance::kEuclidean, group, blocks.block(j / kBlock),
                          clusters.dims, distances);
        }
        for (std::int64_t i = 0; i < kGroup; ++i) {
          sums[i * clusters.clusters() + k] +=
              distances[i * kBlock + j % kBlock];
        }
      }
    }
  });
}

}  // namespace

PointBlocks::PointBlocks(const double* points, std::int64_t count,
                         std::int64_t dims)
    : count_(count), dims_(dims) {
  const std::int64_t blocks = (count + kBlock - 1) / kBlock;
  values_.resize(static_cast<std::size_t>(blocks * kBlock * dims));
  for (std::int64_t i = 0; i < blocks * kBlock; ++i) {
    const double* const point = points + std::min(i, count - 1) * dims;
    double* const to = values_.data() + i / kBlock * kBlock * dims + i % kBlock;
    for (std::int64_t k = 0; k < dims; ++k) to[k * kBlock] = point[k];
  }
}

PointClusters::PointClusters(const at::Tensor& data, const at::Tensor& labels)
    : dims(data.size(1)) {
  tables::PlaceOrder by_place =
      tables::order_by_place(tables::label_places(labels.contiguous()));
  begins = std::move(by_place.begins);
  order = std::move(by_place.order);
  points = classification::Scratch<double>(order.size() *
                                           static_cast<std::size_t>(dims));
  visit_values(data.detach().contiguous(), [this](const auto* values) {
    double* to = points.data();
    double zeros = 0;  // but for what is not finite
    for (const std::uint32_t row : order) {
      const auto* const from = values + row * dims;
      for (std::int64_t i = 0; i < dims; ++i) {
        to[i] = static_cast<double>(from[i]);
      }
      zeros += sum_terms(dims, [=](std::int64_t i) { return to[i] * 0.0; });
      to += dims;
    }
    all_finite = zeros == 0;
  });
}

Centroids::Centroids(const PointClusters& clusters, bool with_squares)
    : dims(clusters.dims),
      centroids(static_cast<std::size_t>(clusters.clusters() * clusters.dims)),
      squares(with_squares ? static_cast<std::size_t>(clusters.clusters())
                           : 0) {
  for (std::int64_t cluster = 0; cluster < clusters.clusters(); ++cluster) {
    double* const mean = centroids.data() + cluster * dims;
    // Of differences from the first one: where all are equal, so is the mean.
    const double* const first = clusters.point(clusters.begins[cluster]);
    const auto count = static_cast<double>(clusters.size(cluster));
    const auto for_each = [&](const auto& visit) {
      for (auto i = clusters.begins[cluster]; i < clusters.begins[cluster + 1];
           ++i) {
        const double* const point = clusters.point(i);
        for (std::int64_t k = 0; k < dims; ++k) visit(point[k], k);
      }
    };
    for_each([=](double x, std::int64_t k) { mean[k] += x - first[k]; });
    for (std::int64_t k = 0; k < dims; ++k) {
      mean[k] = first[k] + mean[k] / count;
    }
    if (!with_squares) continue;
    double sum = 0;
    for_each([&](double x, std::int64_t k) {
      sum += (x - mean[k]) * (x - mean[k]);
    });
    squares[cluster] = sum;
  }
}

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

double mean_silhouette(const PointClusters& clusters) {
  const std::int64_t count = clusters.begins.back();
  if (count < kPointsPerCluster * clusters.clusters()) {
    return mean_of_small_clusters(clusters);
  }
  std::vector<PointBlocks> blocks;
  for (std::int64_t k = 0; k < clusters.clusters(); ++k) {
    blocks.emplace_back(clusters.point(clusters.begins[k]), clusters.size(k),
                        clusters.dims);
  }
  return mean_of(clusters, [&](const double* const* group, double* sums) {
    for (std::int64_t k = 0; k < clusters.clusters(); ++k) {
      double of_cluster[kGroup];
      sums_of_distances(Distance::kEuclidean, group, blocks[k].data(),
                        blocks[k].count(), clusters.dims, of_cluster);
      for (std::int64_t i = 0; i < kGroup; ++i) {
        sums[i * clusters.clusters() + k] = of_cluster[i];
      }
    }
  });
}

double mean_squared_silhouette(const PointClusters& clusters) {
  const Centroids means(clusters);
  const PointBlocks blocks(means.centroids.data(), clusters.clusters(),
                           clusters.dims);
  return mean_of(clusters, [&](const double* const* group, double* sums) {
    double squared[kGroup * kBlock];
    for (std::int64_t k = 0; k < clusters.clusters(); ++k) {
      if (k % kBlock == 0) {
        block_distances(Distance::kSquared, group, blocks.block(k / kBlock),
                        clusters.dims, squared);
      }
      for (std::int64_t i = 0; i < kGroup; ++i) {
        sums[i * clusters.clusters() + k] =
            static_cast<double>(clusters.size(k)) *
                squared[i * kBlock + k % kBlock] +
            means.squares[k];
      }
    }
  });
}

}  // namespace tally::internal::clustering
