#include "tally/metrics/clustering/kernels/point_clusters.h"

#include <algorithm>
#include <cmath>

#include "tally/metrics/plain_values.h"
#include "tally/metrics/tables/label_places.h"

namespace tally::internal::clustering {

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
  points.resize(order.size() * static_cast<std::size_t>(dims));
  visit_values(data.detach().contiguous(), [this](const auto* values) {
    double* to = points.data();
    for (const std::uint32_t row : order) {
      const auto* const from = values + row * dims;
      for (std::int64_t i = 0; i < dims; ++i) {
        *to = static_cast<double>(from[i]);
        all_finite &= std::isfinite(*to);
        ++to;
      }
    }
  });
}

Centroids::Centroids(const PointClusters& clusters)
    : dims(clusters.dims),
      centroids(static_cast<std::size_t>(clusters.clusters() * clusters.dims)),
      squares(static_cast<std::size_t>(clusters.clusters())) {
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
    double sum = 0;
    for_each([&](double x, std::int64_t k) {
      sum += (x - mean[k]) * (x - mean[k]);
    });
    squares[cluster] = sum;
  }
}

}  // namespace tally::internal::clustering
