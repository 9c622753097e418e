#include "tally/metrics/clustering/kernels/silhouettes.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace tally::internal::clustering {
namespace {

// Clusters of fewer points would leave blocks of their own half empty.
constexpr std::int64_t kPointsPerCluster = 2 * kBlock;

// Of a point of `own`, by the sums of its distances to the points of each
// cluster. 0 of a cluster of one, and where all distances are 0.
double silhouette(const PointClusters& clusters, std::int64_t own,
                  const double* sums) {
  const std::int64_t size = clusters.size(own);
  if (size == 1) return 0;
  const double inside = sums[own] / static_cast<double>(size - 1);
  double outside = std::numeric_limits<double>::infinity();
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
