#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tally/metrics/clustering/states/cluster_moments.h"
#include "tally/metrics/clustering/states/cluster_samples.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of DaviesBouldinScore.
///
/// Example: `DaviesBouldinScore score(DaviesBouldinScoreOptions().q(2));`
struct DaviesBouldinScoreOptions {
  /// How wide a cluster is: 1, the mean distance of its points to its centroid,
  /// for which the points are kept; 2, the root of the mean squared distance,
  /// for which sums will do.
  TORCH_ARG(std::int64_t, q) = 1;
  /// Centroids that are known beforehand, [K, D] row by row, for the labels 0
  /// to K - 1: then sums will do for q = 1 as well, and any other label is an
  /// error. Default: none, the means of the points.
  TORCH_ARG(std::vector<double>, centroids) = {};

 public:
  /// Sets `centroids` to those of a tensor [K, D].
  DaviesBouldinScoreOptions& centroids_from(const at::Tensor& centroids);

  void visit(OptionVisitor& v) {
    v("q", q_, "Widths: 1 for mean distances, 2 for mean squared ones.");
    v("centroids", centroids_,
      "Known centroids, [K * D] row by row; []: the means.");
  }
  void validate(const char* metric) const;
};

/// What DaviesBouldinScore accumulates: the points, or sums.
class ClusterScatter {
 public:
  static constexpr const char* kName = "ClusterScatter";
  static constexpr const auto& kInputs = internal::clustering::kDataInputs;
  using Options = DaviesBouldinScoreOptions;
  struct State {
    Rows data, point_labels;        // q = 1, as in ClusterSamples
    ClusterMoments::State moments;  // q = 2
    at::Tensor sizes;               // int64 [K], with known centroids
    at::Tensor distances;           // [K]: sums of distances to the power of q

    void fields(Fields& f) {
      f("data", data)("point_labels", point_labels);
      moments.fields(f);
      f("sizes", sizes)("distances", distances);
    }
    void compact() { moments.compact(); }
  };
  /// With q = 1, the points of other metrics in a collection.
  using Source = ClusterSamples;
  static std::optional<NoOptions> source_options(const Options& options);
  State derive(const Source::State& points) const;

  ClusterScatter(const Options& options, const MetricOptions& metric_options)
      : options_(options), nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& data, const Keys& labels) const;

 private:
  Options options_;
  NanPolicy nan_policy_;
};

/// How much each cluster is like the one that is most like it: wide, and near.
/// Lower is better.
///
///     1 / K sum_i max_j (S_i + S_j) / |c_i - c_j|
/// of K clusters with centroids c_i and S_i = (mean_x |x - c_i|^q)^(1/q), the
/// mean over the points x of cluster i.
///
/// update(data, labels): real [N, D], any dtype; int labels [N], any numbers,
/// or texts (see Keys).
/// Result: 0-dim float64, 0 or more. NaN unless there are from 2 to N - 1
/// clusters. Infinite where two clusters have the same centroid, unless both
/// consist of it: scikit-learn and TorchMetrics skip such a pair.
/// State: with q = 1 all points, concatenated; with q = 2, or with known
/// centroids, sums for each cluster.
/// NaN or infinity: the result is NaN; NanPolicy::kIgnore skips points with a
/// NaN.
/// Errors: as in CalinskiHarabaszScore; c10::ValueError for q other than 1 and
/// 2, and with known centroids for data of another D and other labels.
/// Differentiable by data, not by known centroids.
/// As sklearn.metrics.davies_bouldin_score, with q = 1 (Davies and Bouldin
/// 1979).
///
/// Example:
///     DaviesBouldinScore score;
///     score.update(at::randn({32, 4}), at::randint(3, {32}, at::kLong));
///     double value = score.compute().item<double>();
class DaviesBouldinScore final
    : public MetricOf<DaviesBouldinScore, ClusterScatter, at::Tensor,
                      DaviesBouldinScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "DaviesBouldinScore";
  static constexpr MetricSummary kSummary{
      "Davies-Bouldin index: mean similarity of clusters to the most similar "
      "one.",
      "[0, inf]",
      "",
      "davies-bouldin",
      R"(\frac{1}{K} \sum_i \max_{j \ne i} \frac{s_i + s_j}{d_{ij}})",
      "Davies and Bouldin 1979"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<DaviesBouldinScore, ClusterScatter, at::Tensor,
                               DaviesBouldinScoreOptions>;

}  // namespace tally
