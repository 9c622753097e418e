#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tally/metrics/clustering/kernels/block_distances.h"
#include "tally/metrics/clustering/kernels/point_clusters.h"
#include "tally/metrics/clustering/kernels/point_distances.h"
#include "tally/metrics/clustering/states/cluster_moments.h"

namespace tally::internal::clustering {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double naive_distance(const double* a, const double* b, std::int64_t dims,
                      double p) {
  double sum = 0;
  for (std::int64_t i = 0; i < dims; ++i) {
    const double d = std::abs(a[i] - b[i]);
    sum = p == kInfinity ? std::max(sum, d) : sum + std::pow(d, p);
  }
  return p == kInfinity ? sum : std::pow(sum, 1 / p);
}

std::vector<double> drawn(std::int64_t count) {
  const at::Tensor values = at::randn({count}).to(at::kDouble);
  const auto* const begin = values.const_data_ptr<double>();
  return {begin, begin + count};
}

TEST(BlockDistancesTest, AreThoseOfEachPair) {
  for (const std::int64_t dims : {1, 2, 7, 32}) {
    const std::vector<double> points = drawn(4 * dims);
    const std::vector<double> others = drawn(kBlock * dims);
    const PointBlocks blocks(others.data(), kBlock, dims);
    const double* group[kGroup];
    for (std::int64_t i = 0; i < kGroup; ++i) {
      group[i] = points.data() + i * dims;
    }
    for (const auto& [kind, p] : {std::pair(Distance::kEuclidean, 2.0),
                                  std::pair(Distance::kSquared, 2.0),
                                  std::pair(Distance::kManhattan, 1.0),
                                  std::pair(Distance::kMaximum, kInfinity)}) {
      double distances[kGroup * kBlock];
      block_distances(kind, group, blocks.data(), dims, distances);
      for (std::int64_t i = 0; i < kGroup; ++i) {
        for (std::int64_t j = 0; j < kBlock; ++j) {
          const double expected =
              naive_distance(group[i], others.data() + j * dims, dims, p);
          EXPECT_NEAR(
              distances[i * kBlock + j],
              kind == Distance::kSquared ? expected * expected : expected,
              1e-12);
        }
      }
    }
  }
}

TEST(BlockDistancesTest, SumsLeaveOutWhatFillsABlock) {
  const std::int64_t dims = 3;
  for (const std::int64_t count : {1, 15, 16, 17, 40}) {
    const std::vector<double> others = drawn(count * dims);
    const std::vector<double> point = drawn(dims);
    const PointBlocks blocks(others.data(), count, dims);
    const double* group[kGroup] = {point.data(), others.data(), point.data(),
                                   point.data()};
    for (const auto& [kind, p] : {std::pair(Distance::kEuclidean, 2.0),
                                  std::pair(Distance::kManhattan, 1.0),
                                  std::pair(Distance::kMaximum, kInfinity)}) {
      double sums[kGroup];
      sums_of_distances(kind, group, blocks.data(), count, dims, sums);
      for (std::int64_t i = 0; i < kGroup; ++i) {
        double expected = 0;
        for (std::int64_t j = 0; j < count; ++j) {
          expected +=
              naive_distance(group[i], others.data() + j * dims, dims, p);
        }
        EXPECT_NEAR(sums[i], expected, 1e-11) << count;
      }
    }
  }
}

// Clusters of many points, of a few, and of one.
PointClusters clusters_of(std::int64_t count, std::int64_t clusters) {
  return {at::randn({count, 3}),
          at::arange(count).square().remainder(clusters).mul(5)};
}

double naive_silhouette(const PointClusters& clusters) {
  double total = 0;
  std::int64_t own = 0;
  for (std::int64_t i = 0; i < clusters.begins.back(); ++i) {
    while (clusters.begins[own + 1] <= i) ++own;
    if (clusters.size(own) == 1) continue;
    double inside = 0, outside = kInfinity;
    for (std::int64_t k = 0; k < clusters.clusters(); ++k) {
      double sum = 0;
      for (auto j = clusters.begins[k]; j < clusters.begins[k + 1]; ++j) {
        sum += naive_distance(clusters.point(i), clusters.point(j),
                              clusters.dims, 2);
      }
      if (k == own) {
        inside = sum / static_cast<double>(clusters.size(k) - 1);
      } else {
        outside =
            std::min(outside, sum / static_cast<double>(clusters.size(k)));
      }
    }
    total += (outside - inside) / std::max(inside, outside);
  }
  return total / static_cast<double>(clusters.begins.back());
}

TEST(SilhouettesTest, AreTheNaiveOnesOfLargeAndSmallClusters) {
  for (const std::int64_t clusters : {2, 7, 50, 211}) {
    const PointClusters points = clusters_of(401, clusters);
    EXPECT_NEAR(mean_silhouette(points), naive_silhouette(points), 1e-12)
        << clusters;
  }
}

TEST(SilhouettesTest, AreTheSameForAnyThreads) {
  const int before = at::get_num_threads();
  for (const std::int64_t clusters : {5, 400}) {
    const PointClusters points = clusters_of(1500, clusters);
    at::set_num_threads(1);
    const double expected = mean_silhouette(points);
    const double squared = mean_squared_silhouette(points);
    for (const int threads : {2, 5}) {
      at::set_num_threads(threads);
      EXPECT_EQ(mean_silhouette(points), expected);
      EXPECT_EQ(mean_squared_silhouette(points), squared);
    }
    at::set_num_threads(before);
  }
}

TEST(ExtremeDistancesTest, AreThoseOfAllPairs) {
  const int before = at::get_num_threads();
  const PointClusters points = clusters_of(301, 11);
  std::vector<std::int64_t> cluster_of;
  for (std::int64_t k = 0; k < points.clusters(); ++k) {
    cluster_of.resize(points.begins[k + 1], k);
  }
  for (const double p : {1.0, 2.0, 3.0, kInfinity}) {
    double least = kInfinity, largest = 0;
    for (std::int64_t i = 0; i < 301; ++i) {
      for (std::int64_t j = 0; j < i; ++j) {
        const double distance =
            naive_distance(points.point(i), points.point(j), points.dims, p);
        if (cluster_of[i] == cluster_of[j]) {
          largest = std::max(largest, distance);
        } else {
          least = std::min(least, distance);
        }
      }
    }
    for (const int threads : {1, 2, 5}) {
      at::set_num_threads(threads);
      const PairExtremes extremes = extremes_of_pairs(points, p);
      EXPECT_NEAR(extremes.least_between.distance, least, 1e-12) << p;
      EXPECT_NEAR(extremes.largest_inside.distance, largest, 1e-12) << p;
      const Extreme& pair = extremes.least_between;
      EXPECT_NE(cluster_of[pair.a], cluster_of[pair.b]);
      EXPECT_NEAR(distance_of(points.point(pair.a), points.point(pair.b),
                              points.dims, p),
                  least, 1e-12);
    }
    at::set_num_threads(before);
  }
}

TEST(CentroidsTest, AreThoseOfMoments) {
  const at::Tensor data = at::randn({200, 4}).add(1e4);
  const at::Tensor labels = at::arange(200).remainder(9);
  const PointClusters points(data, labels);
  const Centroids centroids(points);
  const auto moments = merged_moments(
      ClusterMoments(NanPolicy::kPropagate).observe(data, labels));
  for (std::int64_t k = 0; k < 9; ++k) {
    for (std::int64_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(centroids.centroid(k)[i], moments.means[k][i].item<double>(),
                  1e-10);
    }
    EXPECT_NEAR(centroids.squares[k], moments.squares[k].item<double>(), 1e-9);
  }
}

}  // namespace
}  // namespace tally::internal::clustering
