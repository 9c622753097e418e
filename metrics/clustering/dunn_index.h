#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/clustering/states/cluster_samples.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Between what DunnIndex takes distances.
enum class DunnMethod {
  kCentroid,   ///< centroids, and points and their centroid: TorchMetrics'
  kClassical,  ///< points, over all pairs: Dunn's
};

template <>
struct EnumNames<DunnMethod> {
  static constexpr const char* kNames[] = {"centroid", "classical"};
};

/// Options of DunnIndex.
///
/// Example: `DunnIndex
/// index(DunnIndexOptions().method(DunnMethod::kClassical));`
struct DunnIndexOptions {
  DunnIndexOptions(double p = 2) : p_(p) {}
  /// Distances are p-norms of differences: 1 or more, also infinity. Default:
  /// 2.
  TORCH_ARG(double, p);
  TORCH_ARG(DunnMethod, method) = DunnMethod::kCentroid;

 public:
  void visit(OptionVisitor& v) {
    v("p", p_, OptionRole::kValue, internal::words::kP);
    v("method", method_, OptionRole::kValue,
      "Points between which distances are measured.");
  }
  void validate(const char* metric) const;
};

/// The distance of the nearest clusters over the width of the widest one.
///
///     kCentroid:  min |c_i - c_j| / max |x - c_i|, x in cluster i
///     kClassical: min |x - y|, in different clusters / max |x - y|, in one
/// with centroids c_i and p-norms.
///
/// update(data, labels): real [N, D], any dtype; int labels [N], any numbers,
/// or texts (see Keys).
/// Result: 0-dim float64, 0 or more; infinite where each cluster is one point.
/// NaN for fewer than two clusters. kClassical takes time for all pairs, memory
/// for the points.
/// State: all points (see ClusterSamples), concatenated.
/// NaN or infinity: the result is NaN; NanPolicy::kIgnore skips points with a
/// NaN.
/// Errors: as in CalinskiHarabaszScore; c10::ValueError for p below 1.
/// Differentiable by data; where the distance is 0 so is the gradient.
/// Source: Dunn 1974; kCentroid is TorchMetrics'.
///
/// Example:
///     DunnIndex index;
///     index.update(at::randn({32, 4}), at::randint(3, {32}, at::kLong));
///     double value = index.compute().item<double>();
class DunnIndex final
    : public MetricOf<DunnIndex, ClusterSamples, at::Tensor, DunnIndexOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "DunnIndex";
  static constexpr MetricSummary kSummary{
      "Smallest distance between clusters over the largest diameter.",
      "[0, inf]",
      "",
      "dunn",
      R"(\frac{\min_{i \ne j} d(C_i, C_j)}{\max_k \mathrm{diam}(C_k)})",
      "Dunn 1974"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<DunnIndex, ClusterSamples, at::Tensor,
                               DunnIndexOptions>;

}  // namespace tally
