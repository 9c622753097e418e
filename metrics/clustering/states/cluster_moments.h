#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/clustering/inputs/declared_inputs.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/metric_options.h"
#include "tally/state/fields.h"

namespace tally {

/// The number of points of each cluster, their mean, and the sum of squared
/// distances from it: the observer of metrics that are functions of these,
/// in float64. Large offsets cost no precision, and what is constant has a sum
/// of exactly 0.
///
/// update(data, labels): see ClusterSamples, also for NaN and wrong values.
class ClusterMoments {
 public:
  static constexpr const char* kName = "ClusterMoments";
  static constexpr const auto& kInputs = internal::clustering::kDataInputs;
  /// Merged by concatenation; a cluster may occur more than once. Equal ones
  /// become one, by the formula of Chan, Golub and LeVeque (1983), when they
  /// have become many.
  struct State {
    Rows labels;   // int64 [K]
    Rows counts;   // int64 [K]
    Rows means;    // [K, D]
    Rows squares;  // [K]
    // How many clusters there were when they last became one.
    std::int64_t distinct = 0;

    void fields(Fields& f) {
      f("labels", labels)("counts", counts);
      f("means", means)("squares", squares);
      f("distinct", distinct, Merge::kMax);
    }
    void compact();
  };

  template <class Options>
  ClusterMoments(const Options&, const MetricOptions& metric_options)
      : ClusterMoments(metric_options.nan_policy()) {}
  explicit ClusterMoments(NanPolicy nan_policy) : nan_policy_(nan_policy) {}

  State observe(const at::Tensor& data, const Keys& labels) const;

 private:
  NanPolicy nan_policy_;
};

namespace internal::clustering {

/// Each cluster once, in ascending order of labels; tensors are undefined
/// without points.
struct MergedMoments {
  std::int64_t clusters() const {
    return labels.defined() ? labels.size(0) : 0;
  }

  at::Tensor labels, counts;  // int64 [K]
  at::Tensor means;           // [K, D], with the state's graph
  at::Tensor squares;         // [K]
  std::int64_t total = 0;
};

/// c10::ValueError for a state of which the parts do not fit.
MergedMoments merged_moments(const ClusterMoments::State& state);

}  // namespace internal::clustering
}  // namespace tally
