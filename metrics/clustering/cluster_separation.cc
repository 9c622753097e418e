#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <initializer_list>
#include <vector>

#include "tally/metrics/clustering/calinski_harabasz_score.h"
#include "tally/metrics/clustering/dunn_index.h"
#include "tally/metrics/clustering/kernels/point_distances.h"
#include "tally/metrics/clustering/silhouette_score.h"
#include "tally/metrics/common/constants.h"

namespace tally {

namespace clustering = internal::clustering;

namespace {

using clustering::Extreme;
using clustering::PointClusters;

// Points [begin, end), in the order of clusters.
struct Range {
  std::int64_t begin, end;
};
Range cluster_at(const PointClusters& clusters, std::int64_t cluster) {
  return {clusters.begins[cluster], clusters.begins[cluster + 1]};
}
Range point_at(std::int64_t point) { return {point, point + 1}; }

// The rows of data that are these points, float64. They are taken together, as
// each time would have a gradient of the size of data.
std::vector<at::Tensor> rows_of(const at::Tensor& data,
                                const PointClusters& clusters,
                                std::initializer_list<Range> ranges) {
  std::vector<std::int64_t> rows, sizes;
  for (const Range& range : ranges) {
    rows.insert(rows.end(), clusters.order.begin() + range.begin,
                clusters.order.begin() + range.end);
    sizes.push_back(range.end - range.begin);
  }
  return data.index_select(0, at::tensor(rows, at::kLong))
      .to(at::kDouble)
      .split_with_sizes(sizes);
}

at::Tensor centroid_of(const at::Tensor& rows) {
  const at::Tensor origin = rows.select(0, 0).detach();
  return origin.add(rows.sub(origin).mean(0));
}

bool has_graph(const at::Tensor& data) {
  return data.requires_grad() && at::GradMode::is_enabled();
}

// Once it is known which points and centroids decide, the graph needs no
// others.
at::Tensor ratio_with_graph(const at::Tensor& above, const at::Tensor& below,
                            double p) {
  return above.norm(p).div(below.norm(p));
}

at::Tensor centroid_index(const at::Tensor& data, const PointClusters& clusters,
                          double p) {
  const clustering::Centroids centroids(clusters, /*with_squares=*/false);
  const Extreme least = clustering::least_distance(
      centroids.centroids.data(), clusters.clusters(), clusters.dims, p);
  const Extreme largest =
      clustering::largest_to_centroid(clusters, centroids, p);
  if (!has_graph(data)) {
    return internal::scalar_tensor(least.distance / largest.distance);
  }
  const auto rows =
      rows_of(data, clusters,
              {cluster_at(clusters, least.a), cluster_at(clusters, least.b),
               cluster_at(clusters, largest.b), point_at(largest.a)});
  return ratio_with_graph(centroid_of(rows[0]).sub(centroid_of(rows[1])),
                          rows[3].select(0, 0).sub(centroid_of(rows[2])), p);
}

at::Tensor classical_index(const at::Tensor& data,
                           const PointClusters& clusters, double p) {
  const auto [least, largest] = clustering::extremes_of_pairs(clusters, p);
  if (!has_graph(data)) {
    return internal::scalar_tensor(least.distance / largest.distance);
  }
  const auto rows = rows_of(data, clusters,
                            {point_at(least.a), point_at(least.b),
                             point_at(largest.a), point_at(largest.b)});
  return ratio_with_graph(rows[0].sub(rows[1]), rows[2].sub(rows[3]), p);
}

}  // namespace

at::Tensor SilhouetteScore::evaluate(const State& state) const {
  const auto points = clustering::kept_points(state.data, state.labels);
  if (points.data.defined()) {
    const clustering::PointClusters clusters(points.data, points.labels);
    if (clusters.clusters() >= 2 &&
        clusters.clusters() < clusters.begins.back() && clusters.all_finite) {
      return internal::scalar_tensor(
          options().distance_metric() == SilhouetteDistance::kEuclidean
              ? clustering::mean_silhouette(clusters)
              : clustering::mean_squared_silhouette(clusters));
    }
  }
  return internal::scalar_tensor(internal::kNaN);
}

void DunnIndexOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(p_ >= 1, metric, ": expected p of at least 1, got ", p_);
}

at::Tensor DunnIndex::evaluate(const State& state) const {
  const auto points = clustering::kept_points(state.data, state.labels);
  if (points.data.defined()) {
    const PointClusters clusters(points.data, points.labels);
    if (clusters.clusters() >= 2 && clusters.all_finite) {
      return options().method() == DunnMethod::kCentroid
                 ? centroid_index(points.data, clusters, options().p())
                 : classical_index(points.data, clusters, options().p());
    }
  }
  return internal::scalar_tensor(internal::kNaN);
}

at::Tensor CalinskiHarabaszScore::evaluate(const State& state) const {
  const auto moments = clustering::merged_moments(state);
  const std::int64_t clusters = moments.clusters();
  if (clusters < 2 || clusters >= moments.total) {
    return internal::scalar_tensor(internal::kNaN);
  }
  const at::Tensor inside = moments.squares.sum();
  if (inside.detach().item<double>() == 0) {
    // Points of one cluster that are all the same have deviations of exactly 0.
    return internal::scalar_tensor(1.0).to(inside.device());
  }
  const at::Tensor weights =
      moments.counts.to(at::kDouble).unsqueeze(1).div(moments.total);
  const at::Tensor origin = moments.means.select(0, 0).detach();
  const at::Tensor centered = moments.means.sub(origin);
  const at::Tensor mean = centered.mul(weights).sum(0);
  const at::Tensor between =
      centered.sub(mean).square().mul(weights).sum().mul(moments.total);
  return between.mul(moments.total - clusters).div(inside.mul(clusters - 1));
}

template class MetricOf<CalinskiHarabaszScore, ClusterMoments, at::Tensor>;
template class MetricOf<DunnIndex, ClusterSamples, at::Tensor,
                        DunnIndexOptions>;
template class MetricOf<SilhouetteScore, ClusterSamples, at::Tensor,
                        SilhouetteScoreOptions>;

}  // namespace tally
