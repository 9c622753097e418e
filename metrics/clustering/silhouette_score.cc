#include "tally/metrics/clustering/silhouette_score.h"

#include <limits>

#include "tally/metrics/clustering/kernels/silhouettes.h"

namespace tally {

namespace clustering = internal::clustering;

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
  return internal::scalar_tensor(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace tally
