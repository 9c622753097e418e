#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/metric_options.h"
#include "tally/metrics/regression/inputs/declared_inputs.h"
#include "tally/state/fields.h"

namespace tally {

/// Keeps all predictions and targets: the observer of rank correlations,
/// which share it in a collection.
class SamplePairs {
 public:
  static constexpr const char* kName = "SamplePairs";
  static constexpr const auto& kInputs = internal::regression::kColumnInputs;
  /// Stores float32, half and bfloat16 as float32, others as float64.
  struct State {
    Rows preds;   // [N], or [N, num_outputs]
    Rows target;  // the same
    void fields(Fields& f) { f("preds", preds)("target", target); }
  };

  template <class Options>
  SamplePairs(const Options& options, const MetricOptions& metric_options)
      : SamplePairs(options.num_outputs(), metric_options) {}
  SamplePairs(std::int64_t num_outputs, const MetricOptions& metric_options)
      : num_outputs_(num_outputs), nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  std::int64_t num_outputs_;
  NanPolicy nan_policy_;
};

}  // namespace tally
