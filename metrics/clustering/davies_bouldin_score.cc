#include "tally/metrics/clustering/davies_bouldin_score.h"

#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/clustering/inputs/labeled_points.h"
#include "tally/metrics/clustering/kernels/point_clusters.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/tables/label_places.h"
#include "tally/metrics/tables/label_range.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace clustering = internal::clustering;
namespace tables = internal::tables;

namespace {

using State = ClusterScatter::State;

// How wide clusters are and where, in float64, on the CPU.
struct Clusters {
  at::Tensor widths;     // [K]
  at::Tensor centroids;  // [K, D]
  std::int64_t total = 0;

  std::int64_t size() const { return widths.defined() ? widths.size(0) : 0; }
};

// The root, with a gradient of 0 at 0.
at::Tensor root(const at::Tensor& values) {
  const at::Tensor zero = values.eq(0);
  return values.masked_fill(zero, 1).sqrt().masked_fill(zero, 0);
}

at::Tensor lengths(const at::Tensor& rows) {
  return root(rows.square().sum(1));
}

double squared_distance(const double* a, const double* b, std::int64_t dims) {
  double sum = 0;
  for (std::int64_t i = 0; i < dims; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// Sums over the points of each place of their distances to its centroid, to the
// power of q. REQUIRES: places from 0 to K - 1.
at::Tensor sums_of_distances(const at::Tensor& data, const at::Tensor& places,
                             const at::Tensor& centroids, std::int64_t q) {
  const std::int64_t dims = data.size(1);
  if (!internal::is_plain(data) || !internal::is_plain(centroids)) {
    const at::Tensor to = centroids.to(data.device());
    const at::Tensor rows =
        data.to(at::kDouble).sub(to.index_select(0, places));
    const at::Tensor terms = q == 1 ? lengths(rows) : rows.square().sum(1);
    return at::zeros({centroids.size(0)}, terms.options())
        .index_add(0, places, terms);
  }
  at::Tensor sums = internal::fresh_zeros({centroids.size(0)}, at::kDouble);
  auto* const sum = sums.mutable_data_ptr<double>();
  const auto* const center = centroids.const_data_ptr<double>();
  const auto* const place = places.const_data_ptr<std::int64_t>();
  const at::Tensor wide = data.to(at::kDouble);
  const auto* const point = wide.const_data_ptr<double>();
  for (std::int64_t i = 0; i < data.size(0); ++i) {
    const double squared =
        squared_distance(point + i * dims, center + place[i] * dims, dims);
    sum[place[i]] += q == 1 ? std::sqrt(squared) : squared;
  }
  return sums;
}

Clusters clusters_of_points(const State& state) {
  const auto points = clustering::kept_points(state.data, state.point_labels);
  if (!points.data.defined()) return {};
  const auto moments =
      clustering::merged_moments(ClusterMoments(NanPolicy::kPropagate)
                                     .observe(points.data, points.labels));
  const tables::LabelPlaces labels =
      tables::label_places(points.labels.contiguous());
  const at::Tensor places = at::tensor(
      std::vector<std::int64_t>(labels.places.begin(), labels.places.end()),
      at::kLong);
  return {sums_of_distances(points.data.contiguous(), places, moments.means,
                            /*q=*/1)
              .div(moments.counts),
          moments.means, moments.total};
}

Clusters clusters_of_moments(const State& state) {
  const auto moments = clustering::merged_moments(state.moments);
  if (moments.clusters() == 0) return {};
  return {root(moments.squares.div(moments.counts)).to(at::kCPU),
          moments.means.to(at::kCPU), moments.total};
}

at::Tensor known_centroids(const DaviesBouldinScoreOptions& options,
                           std::int64_t clusters) {
  return at::tensor(options.centroids(), at::kDouble).reshape({clusters, -1});
}

Clusters clusters_of_sums(const State& state,
                          const DaviesBouldinScoreOptions& options) {
  if (!state.sizes.defined() || !state.distances.defined()) return {};
  const at::Tensor sizes = state.sizes.to(at::kCPU);
  const at::Tensor distances = state.distances.to(at::kCPU);
  const auto coordinates =
      static_cast<std::int64_t>(options.centroids().size());
  TORCH_CHECK_VALUE(
      sizes.dim() == 1 && sizes.size(0) > 0 &&
          sizes.scalar_type() == at::kLong &&
          coordinates % sizes.size(0) == 0 &&
          distances.sizes() == sizes.sizes() &&
          distances.scalar_type() == at::kDouble,
      "expected sizes and distances of as many clusters as there are centroids "
      "in the state, got ",
      sizes.sizes(), " and ", distances.sizes());
  const at::Tensor present = sizes.gt(0).nonzero().squeeze(1);
  const at::Tensor means =
      distances.index_select(0, present).div(sizes.index_select(0, present));
  return {options.q() == 1 ? means : root(means),
          known_centroids(options, sizes.size(0)).index_select(0, present),
          sizes.sum().item<std::int64_t>()};
}

// Of each cluster the one that is most like it, and how much.
struct Neighbors {
  std::vector<std::int64_t> nearest;
  double mean = 0;
};

double likeness(double widths, double distance) {
  return widths == 0 && distance == 0 ? 0 : widths / distance;
}

Neighbors nearest_neighbors(const Clusters& clusters) {
  const std::int64_t count = clusters.size();
  const std::int64_t dims = clusters.centroids.size(1);
  const at::Tensor wide = clusters.widths.detach().contiguous();
  const at::Tensor means = clusters.centroids.detach().contiguous();
  const auto* const width = wide.const_data_ptr<double>();
  const auto* const points = means.const_data_ptr<double>();
  const clustering::PointBlocks blocks(points, count, dims);
  Neighbors result;
  result.nearest.resize(static_cast<std::size_t>(count));
  double distances[clustering::kGroup * clustering::kBlock];
  clustering::for_each_group(
      points, count, dims, 0, count,
      [&](std::int64_t first, const double* const* group) {
        double most[clustering::kGroup] = {-1, -1, -1, -1};
        for (std::int64_t j = 0; j < count; ++j) {
          const std::int64_t place = j % clustering::kBlock;
          if (place == 0) {
            clustering::block_distances(clustering::Distance::kEuclidean, group,
                                        blocks.block(j / clustering::kBlock),
                                        dims, distances);
          }
          for (std::int64_t k = 0; k < clustering::kGroup; ++k) {
            const std::int64_t i = first + k;
            if (i >= count || i == j) continue;
            const double like = likeness(
                width[i] + width[j], distances[k * clustering::kBlock + place]);
            if (like > most[k]) {
              most[k] = like;
              result.nearest[i] = j;
            }
          }
        }
        for (std::int64_t k = 0; k < clustering::kGroup; ++k) {
          if (first + k < count) result.mean += most[k];
        }
      });
  result.mean /= static_cast<double>(count);
  return result;
}

at::Tensor mean_likeness(const Clusters& clusters) {
  const Neighbors neighbors = nearest_neighbors(clusters);
  if (!clusters.widths.requires_grad() && !clusters.centroids.requires_grad()) {
    return internal::scalar_tensor(neighbors.mean);
  }
  const at::Tensor nearest = at::tensor(neighbors.nearest, at::kLong);
  const at::Tensor widths =
      clusters.widths.add(clusters.widths.index_select(0, nearest));
  const at::Tensor distances = lengths(
      clusters.centroids.sub(clusters.centroids.index_select(0, nearest)));
  const at::Tensor same = widths.eq(0).logical_and(distances.eq(0));
  return widths.div(distances.masked_fill(same, 1)).mean();
}

}  // namespace

DaviesBouldinScoreOptions& DaviesBouldinScoreOptions::centroids_from(
    const at::Tensor& centroids) {
  internal::check_real("centroids", centroids);
  TORCH_CHECK_VALUE(centroids.dim() == 2,
                    "expected centroids of shape [K, D], got ",
                    centroids.sizes());
  const at::Tensor plain =
      centroids.detach().to(at::kCPU, at::kDouble).contiguous();
  const auto* const begin = plain.const_data_ptr<double>();
  centroids_.assign(begin, begin + plain.numel());
  return *this;
}

void DaviesBouldinScoreOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(q_ == 1 || q_ == 2, metric, ": expected q of 1 or 2, got ",
                    q_);
  for (const double value : centroids_) {
    TORCH_CHECK_VALUE(std::isfinite(value), metric,
                      ": expected finite centroids, got ", value);
  }
}

std::optional<NoOptions> ClusterScatter::source_options(
    const Options& options) {
  if (options.q() != 1 || !options.centroids().empty()) return std::nullopt;
  return NoOptions();
}

State ClusterScatter::derive(const Source::State& points) const {
  State state;
  state.data = points.data;
  state.point_labels = points.labels;
  return state;
}

State ClusterScatter::observe(const at::Tensor& data,
                              const Keys& labels) const {
  State state;
  if (options_.centroids().empty()) {
    if (options_.q() == 1) {
      return derive(ClusterSamples(nan_policy_).observe(data, labels));
    }
    state.moments = ClusterMoments(nan_policy_).observe(data, labels);
    return state;
  }
  const auto points =
      clustering::labeled_points(data, labels.beside(data), nan_policy_);
  const auto coordinates =
      static_cast<std::int64_t>(options_.centroids().size());
  TORCH_CHECK_VALUE(coordinates % data.size(1) == 0,
                    "expected data of shape [N, D], D a divisor of the ",
                    coordinates, " coordinates of the centroids, got ",
                    data.sizes());
  const std::int64_t clusters = coordinates / data.size(1);
  labels.check_numbers("labels", clusters);
  tables::check_label_range("labels", points.labels.to(at::kCPU).contiguous(),
                            clusters);
  state.distances =
      sums_of_distances(points.data, points.labels.contiguous(),
                        known_centroids(options_, clusters), options_.q());
  state.sizes = at::zeros({clusters}, points.labels.options())
                    .index_add(0, points.labels, at::ones_like(points.labels));
  return state;
}

at::Tensor DaviesBouldinScore::evaluate(const State& state) const {
  const Clusters clusters = !options().centroids().empty()
                                ? clusters_of_sums(state, options())
                            : options().q() == 1 ? clusters_of_points(state)
                                                 : clusters_of_moments(state);
  const std::int64_t size = clusters.size();
  if (size < 2 || size >= clusters.total ||
      !clusters.widths.detach().isfinite().all().item<bool>() ||
      !clusters.centroids.detach().isfinite().all().item<bool>()) {
    return internal::scalar_tensor(internal::kNaN);
  }
  return mean_likeness(clusters);
}

template class MetricOf<DaviesBouldinScore, ClusterScatter, at::Tensor,
                        DaviesBouldinScoreOptions>;

}  // namespace tally
