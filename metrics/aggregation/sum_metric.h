#pragma once

#include "tally/metrics/aggregation/aggregation_options.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The observer of SumMetric.
class SumAggregation {
 public:
  static constexpr const char* kName = "SumAggregation";
  static constexpr InputInfo kInputs[] = {
      {"value", InputKind::kReal, "real [...]"}};
  using Options = AggregationOptions;
  struct State {
    Number sum;
    Note nan{internal::aggregation::kNan};
    void fields(Fields& f) { f("sum", sum)(nan); }
  };

  SumAggregation(const Options& options, const MetricOptions& metric_options)
      : nan_strategy_(
            internal::aggregation::nan_strategy(options, metric_options)),
        nan_value_(options.nan_value()) {}

  State observe(const at::Tensor& value) const;

 private:
  NanStrategy nan_strategy_;
  double nan_value_;
};

/// The sum of all values.
///
///     sum_i value_i
///
/// update(value): a tensor of any shape and any real dtype, or a number.
/// Result: 0-dim float64; 0 before any update.
/// State: the sum in float64, merged by addition. Integers are also added as
/// float64: exact up to 2^53, rounded beyond.
/// NaN: see NanStrategy; by default ignored with a warning. Infinities are
/// included.
/// Errors: c10::TypeError for complex and sparse tensors; c10::ValueError for
/// NaN with NanStrategy::kError.
/// Differentiable; the gradient of an ignored NaN is 0.
///
/// Example:
///     SumMetric tokens;
///     for (const Batch& batch : batches) {
///       tokens.update(batch.mask);  // or a number: tokens.update(128)
///     }
///     double total = tokens.compute().item<double>();
class SumMetric final : public MetricOf<SumMetric, SumAggregation, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SumMetric";
  static constexpr MetricSummary kSummary{"Sum of all values.", "any", "",
                                          "sum, total", R"(\sum_n x_n)"};
  static constexpr bool kIsDifferentiable = true;

  at::Tensor evaluate(const State& state) const { return state.sum; }
};

extern template class MetricOf<SumMetric, SumAggregation, at::Tensor>;

}  // namespace tally
