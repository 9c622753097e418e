#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/clustering/kernels/block_distances.h"
#include "tally/metrics/common/scratch.h"

namespace tally::internal::clustering {

/// Points as block_distances takes them.
class PointBlocks {
 public:
  /// Of points [count, dims].
  PointBlocks(const double* points, std::int64_t count, std::int64_t dims);

  std::int64_t count() const { return count_; }
  const double* data() const { return values_.data(); }
  /// That of points i * kBlock and so on.
  const double* block(std::int64_t i) const {
    return values_.data() + i * kBlock * dims_;
  }

 private:
  std::int64_t count_;
  std::int64_t dims_;
  std::vector<double> values_;
};

/// Points by cluster, whose labels in ascending order are the clusters 0, 1,
/// and so on.
struct PointClusters {
  /// REQUIRES: data is [N, dims] of a real dtype, labels int64 [N], both on the
  /// CPU.
  PointClusters(const at::Tensor& data, const at::Tensor& labels);

  std::int64_t clusters() const {
    return static_cast<std::int64_t>(begins.size()) - 1;
  }
  std::int64_t size(std::int64_t cluster) const {
    return begins[cluster + 1] - begins[cluster];
  }
  const double* point(std::int64_t i) const { return points.data() + i * dims; }

  std::int64_t dims = 0;
  bool all_finite = true;
  classification::Scratch<double> points;  // [N, dims], cluster by cluster
  std::vector<std::int64_t> begins;        // of each cluster, and N
  std::vector<std::uint32_t> order;        // which row of data each point was
};

/// By cluster: the means and, if wanted, the sums of squared distances from
/// them.
struct Centroids {
  explicit Centroids(const PointClusters& clusters, bool with_squares = true);

  const double* centroid(std::int64_t i) const {
    return centroids.data() + i * dims;
  }

  std::int64_t dims;
  std::vector<double> centroids;  // [clusters, dims]
  std::vector<double> squares;
};

/// Calls visit(first, points) for each kGroup of points [count, dims] with
/// begin <= first < end, a multiple of kGroup; the last one is repeated where
/// there are fewer.
template <class Visit>
void for_each_group(const double* points, std::int64_t count, std::int64_t dims,
                    std::int64_t begin, std::int64_t end, const Visit& visit) {
  for (std::int64_t first = begin; first < end; first += kGroup) {
    const double* group[kGroup];
    for (std::int64_t i = 0; i < kGroup; ++i) {
      const std::int64_t point = first + i < count ? first + i : count - 1;
      group[i] = points + point * dims;
    }
    visit(first, group);
  }
}

}  // namespace tally::internal::clustering
