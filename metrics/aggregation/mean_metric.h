#pragma once

#include "tally/metrics/aggregation/aggregation_options.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The observer of MeanMetric.
class MeanAggregation {
 public:
  static constexpr const char* kName = "MeanAggregation";
  static constexpr InputInfo kInputs[] = {
      {"value", InputKind::kReal, "real [...]"},
      {"weight", InputKind::kReal, "real [...]", /*is_optional=*/true}};
  using Options = AggregationOptions;
  struct State {
    Number sum;
    Number weight;
    Note nan{internal::aggregation::kNan};
    void fields(Fields& f) { f("sum", sum)("weight", weight)(nan); }
  };

  MeanAggregation(const Options& options, const MetricOptions& metric_options)
      : nan_strategy_(
            internal::aggregation::nan_strategy(options, metric_options)),
        nan_value_(options.nan_value()) {}

  State observe(const at::Tensor& value, const at::Tensor& weight = {}) const;

  template <class M>
  static MetricSampling sampling(const M&) {
    MetricSampling sampling;
    sampling.row_sums = row_sums;
    return sampling;
  }

 private:
  static at::Tensor row_sums(Inputs inputs);
  State observe_nan(const at::Tensor& value, const at::Tensor& weight) const;

  NanStrategy nan_strategy_;
  double nan_value_;
};

/// The weighted mean of all values.
///
///     sum_i weight_i * value_i / sum_i weight_i
///
/// update(value, weight = 1): tensors of any real dtypes, or numbers; value of
/// any shape, weight of a shape that broadcasts to it.
/// Result: 0-dim float64; NaN before any update and if the weights sum to 0.
/// State: both sums in float64, merged by addition.
/// NaN: see NanStrategy; by default ignored with a warning. A value and its
/// weight are ignored together if either is NaN; kReplace replaces the value
/// and keeps its weight, but ignores values whose weight is NaN.
/// Errors: c10::TypeError for complex and sparse tensors; c10::ValueError for a
/// weight that does not broadcast, and for NaN with NanStrategy::kError.
/// Differentiable in value and weight; ignored values have a gradient of 0.
///
/// Example:
///     MeanMetric mean_loss;
///     for (const Batch& batch : batches) {
///       mean_loss.update(loss_of(batch), batch.size());
///     }
///     at::Tensor value = mean_loss.compute();
class MeanMetric final
    : public MetricOf<MeanMetric, MeanAggregation, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanMetric";
  static constexpr MetricSummary kSummary{
      "Weighted mean of all values.", "any", "", "mean, average, weighted mean",
      R"(\frac{\sum_n w_n x_n}{\sum_n w_n})"};
  static constexpr bool kIsDifferentiable = true;

  at::Tensor evaluate(const State& state) const {
    return state.sum / state.weight;
  }
};

extern template class MetricOf<MeanMetric, MeanAggregation, at::Tensor>;

}  // namespace tally
