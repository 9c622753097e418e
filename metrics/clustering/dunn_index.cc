#include "tally/metrics/clustering/dunn_index.h"

#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <limits>
#include <vector>

#include "tally/metrics/clustering/kernels/extreme_distances.h"

namespace tally {

namespace clustering = internal::clustering;

namespace {

using clustering::Extreme;
using clustering::PointClusters;

// The rows of data that are the points [begin, end), in the order of clusters.
at::Tensor rows_of(const at::Tensor& data, const PointClusters& clusters,
                   std::int64_t begin, std::int64_t end) {
  return data.index_select(
      0, at::tensor(std::vector<std::int64_t>(clusters.order.begin() + begin,
                                              clusters.order.begin() + end),
                    at::kLong));
}
at::Tensor row_of(const at::Tensor& data, const PointClusters& clusters,
                  std::int64_t point) {
  return data.select(0, clusters.order[point]);
}
at::Tensor centroid_of(const at::Tensor& data, const PointClusters& clusters,
                       std::int64_t cluster) {
  const at::Tensor rows = rows_of(data, clusters, clusters.begins[cluster],
                                  clusters.begins[cluster + 1]);
  const at::Tensor origin = rows.select(0, 0).detach();
  return origin.add(rows.sub(origin).mean(0));
}

// Once it is known which points and centroids decide, the graph needs no
// others.
at::Tensor ratio_with_graph(const at::Tensor& above, const at::Tensor& below,
                            double p) {
  return above.norm(p).div(below.norm(p));
}

at::Tensor centroid_index(const at::Tensor& data, const PointClusters& clusters,
                          double p) {
  const clustering::Centroids centroids(clusters);
  const Extreme least = clustering::least_distance(
      centroids.centroids.data(), clusters.clusters(), clusters.dims, p);
  const Extreme largest =
      clustering::largest_to_centroid(clusters, centroids, p);
  if (!data.requires_grad()) {
    return internal::scalar_tensor(least.distance / largest.distance);
  }
  return ratio_with_graph(centroid_of(data, clusters, least.a)
                              .sub(centroid_of(data, clusters, least.b)),
                          row_of(data, clusters, largest.a)
                              .sub(centroid_of(data, clusters, largest.b)),
                          p);
}

at::Tensor classical_index(const at::Tensor& data,
                           const PointClusters& clusters, double p) {
  const auto [least, largest] = clustering::extremes_of_pairs(clusters, p);
  if (!data.requires_grad()) {
    return internal::scalar_tensor(least.distance / largest.distance);
  }
  const auto difference = [&](const Extreme& pair) {
    return row_of(data, clusters, pair.a).sub(row_of(data, clusters, pair.b));
  };
  return ratio_with_graph(difference(least), difference(largest), p);
}

}  // namespace

void DunnIndexOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(p_ >= 1, metric, ": expected p of at least 1, got ", p_);
}

at::Tensor DunnIndex::evaluate(const State& state) const {
  const auto points = clustering::kept_points(state.data, state.labels);
  if (points.data.defined()) {
    const PointClusters clusters(points.data, points.labels);
    if (clusters.clusters() >= 2 && clusters.all_finite) {
      const at::Tensor data = points.data.to(at::kDouble);
      return options().method() == DunnMethod::kCentroid
                 ? centroid_index(data, clusters, options().p())
                 : classical_index(data, clusters, options().p());
    }
  }
  return internal::scalar_tensor(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace tally
