#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/clustering/states/cluster_moments.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The dispersion between clusters over the dispersion within them.
///
///     sum_k n_k |c_k - c|^2 / (K - 1) / (sum_k sum_i |x_i - c_k|^2 / (N - K))
/// of K clusters with n_k of the N points, centroids c_k and the mean c.
///
/// update(data, labels): real [N, D], any dtype; int labels [N], any numbers,
/// or texts (see Keys).
/// Result: 0-dim float64, 0 or more; 1 where all points are at their centroids,
/// as in scikit-learn. NaN unless there are from 2 to N - 1 clusters.
/// State: the number, the mean and the sum of squares around it of each cluster
/// (see ClusterMoments), never the points. Large offsets cost no precision.
/// NaN or infinity: the result is NaN; NanPolicy::kIgnore skips points with a
/// NaN.
/// Errors: c10::ValueError for other shapes, for D that changes, and for NaN
/// with NanPolicy::kError; c10::TypeError for labels that are not integers and
/// for complex or sparse data.
/// Differentiable by data.
/// As sklearn.metrics.calinski_harabasz_score (Calinski and Harabasz 1974).
///
/// Example:
///     CalinskiHarabaszScore score;
///     score.update(at::randn({32, 4}), at::randint(3, {32}, at::kLong));
///     double value = score.compute().item<double>();
class CalinskiHarabaszScore final
    : public MetricOf<CalinskiHarabaszScore, ClusterMoments, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CalinskiHarabaszScore";
  static constexpr MetricSummary kSummary{
      "Variance between clusters over variance within clusters.",
      "[0, inf)",
      "",
      "calinski-harabasz, variance ratio criterion",
      R"(\frac{\mathrm{tr} B / (K - 1)}{\mathrm{tr} W / (N - K)})",
      "Calinski and Harabasz 1974"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<CalinskiHarabaszScore, ClusterMoments,
                               at::Tensor>;

}  // namespace tally
