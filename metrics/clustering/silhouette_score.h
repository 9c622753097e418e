#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/clustering/states/cluster_samples.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// By which distances SilhouetteScore goes.
enum class SilhouetteDistance {
  kEuclidean,         ///< over all pairs of points
  kSquaredEuclidean,  ///< from means and squares of clusters, without pairs
};

template <>
struct EnumNames<SilhouetteDistance> {
  static constexpr const char* kNames[] = {"euclidean", "sqeuclidean"};
};

/// Options of SilhouetteScore.
///
/// Example: `SilhouetteScore score(SilhouetteDistance::kSquaredEuclidean);`
struct SilhouetteScoreOptions {
  SilhouetteScoreOptions(
      SilhouetteDistance distance_metric = SilhouetteDistance::kEuclidean)
      : distance_metric_(distance_metric) {}
  /// Of N points in K clusters kEuclidean takes time for N * N distances,
  /// kSquaredEuclidean for N * K; both take little memory besides the points.
  /// Default: kEuclidean.
  TORCH_ARG(SilhouetteDistance, distance_metric);

 public:
  void visit(OptionVisitor& v) {
    v("distance_metric", distance_metric_, OptionRole::kValue,
      "Euclidean distances over all pairs, or squared ones from sums.");
  }
};

/// How much nearer points are to their own cluster than to the next one.
///
///     mean over points of (b - a) / max(a, b)
/// where a is a point's mean distance to the others of its cluster, b the least
/// of its mean distances to the points of another one.
///
/// update(data, labels): real [N, D], any dtype; int labels [N], any numbers,
/// or texts (see Keys). Result: 0-dim float64 in [-1, 1]; a point that is alone
/// in its cluster counts as 0. NaN unless there are from 2 to N - 1 clusters.
/// The same for any number of threads. State: all points (see ClusterSamples),
/// concatenated. NaN or infinity: the result is NaN; NanPolicy::kIgnore skips
/// points with a NaN. Errors: as in CalinskiHarabaszScore. Not
/// differentiable. As sklearn.metrics.silhouette_score (Rousseeuw 1987), with
/// the metrics of these names.
///
/// Example:
///     SilhouetteScore score;
///     score.update(at::randn({32, 4}), at::randint(3, {32}, at::kLong));
///     double value = score.compute().item<double>();
class SilhouetteScore final
    : public MetricOf<SilhouetteScore, ClusterSamples, at::Tensor,
                      SilhouetteScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SilhouetteScore";
  static constexpr MetricSummary kSummary{
      "Cohesion of clusters compared with their separation.",
      "[-1, 1]",
      "",
      "silhouette",
      R"(\frac{1}{N} \sum_n \frac{b_n - a_n}{\max(a_n, b_n)})",
      "Rousseeuw 1987"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<SilhouetteScore, ClusterSamples, at::Tensor,
                               SilhouetteScoreOptions>;

}  // namespace tally
