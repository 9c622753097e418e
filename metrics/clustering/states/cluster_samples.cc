#include "tally/metrics/clustering/states/cluster_samples.h"

#include <c10/util/Exception.h>

#include "tally/metrics/clustering/inputs/inputs.h"

namespace tally {

ClusterSamples::State ClusterSamples::observe(const at::Tensor& data,
                                              const at::Tensor& labels) const {
  const auto points =
      internal::clustering::labeled_points(data, labels, nan_policy_);
  const at::ScalarType dtype = data.scalar_type();
  const bool is_narrow =
      dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16;
  return {Rows(points.data.to(is_narrow ? at::kFloat : at::kDouble)),
          Rows(points.labels)};
}

internal::clustering::KeptPoints internal::clustering::kept_points(
    const Rows& data, const Rows& labels) {
  if (data.size() == 0 && labels.size() == 0) return {};
  TORCH_CHECK_VALUE(data.size() == labels.size(),
                    "expected as many labels as points in the state, got ",
                    labels.size(), " and ", data.size());
  KeptPoints points{data.tensor().to(at::kCPU), labels.tensor().to(at::kCPU)};
  TORCH_CHECK_VALUE(
      points.data.dim() == 2 && points.data.size(1) > 0 &&
          at::isFloatingType(points.data.scalar_type()) &&
          points.labels.dim() == 1 && points.labels.scalar_type() == at::kLong,
      "expected points [N, D] and int64 labels [N] in the state, got ",
      points.data.scalar_type(), " ", points.data.sizes(), " and ",
      points.labels.scalar_type(), " ", points.labels.sizes());
  return points;
}

}  // namespace tally
