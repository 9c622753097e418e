#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/clustering/inputs/declared_inputs.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/metric_options.h"
#include "tally/state/fields.h"

namespace tally {

/// Keeps all points with their labels: the observer of metrics on distances
/// between points, which share it in a collection.
///
/// update(data, labels): real [N, D] and integers or texts [N]. Any numbers are
/// labels.
/// NaN: propagates; NanPolicy::kIgnore skips the point.
/// Errors: c10::ValueError for other shapes, for D that changes, and for NaN
/// with NanPolicy::kError; c10::TypeError for labels that are not integers and
/// for complex or sparse data.
class ClusterSamples {
 public:
  static constexpr const char* kName = "ClusterSamples";
  static constexpr const auto& kInputs = internal::clustering::kDataInputs;
  /// Data of float32 as it is, half and bfloat16 as float32, others as float64.
  struct State {
    Rows data;    // [N, D]
    Rows labels;  // int64 [N]
    void fields(Fields& f) { f("data", data)("labels", labels); }
  };

  template <class Options>
  ClusterSamples(const Options&, const MetricOptions& metric_options)
      : ClusterSamples(metric_options.nan_policy()) {}
  explicit ClusterSamples(NanPolicy nan_policy) : nan_policy_(nan_policy) {}

  State observe(const at::Tensor& data, const Keys& labels) const;

 private:
  NanPolicy nan_policy_;
};

namespace internal::clustering {

/// All points, data with its graph, on the CPU; undefined if there are none.
/// c10::ValueError for a state of which the parts do not fit.
struct KeptPoints {
  at::Tensor data, labels;
};
KeptPoints kept_points(const Rows& data, const Rows& labels);

}  // namespace internal::clustering
}  // namespace tally
