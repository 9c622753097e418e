#pragma once

#include "tally/metrics/aggregation/aggregation_options.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The observer of CatMetric.
class CatAggregation {
 public:
  static constexpr const char* kName = "CatAggregation";
  static constexpr InputInfo kInputs[] = {
      {"value", InputKind::kReal, "real [...]"}};
  using Options = AggregationOptions;
  struct State {
    Rows value;
    Note nan{internal::aggregation::kNan};
    void fields(Fields& f) { f("value", value)(nan); }
  };

  CatAggregation(const Options& options, const MetricOptions& metric_options)
      : nan_strategy_(
            internal::aggregation::nan_strategy(options, metric_options)),
        nan_value_(options.nan_value()) {}

  State observe(const at::Tensor& value) const;

 private:
  NanStrategy nan_strategy_;
  double nan_value_;
};

/// The concatenation of all values.
///
/// update(value): rows [n, ...] of any real dtype, or a 0-dim tensor or number,
/// which is one row. The first update determines dtype, device and row shape.
/// Result: [N, ...] of that dtype, in the order of updates, starting with rank
/// 0; float64 of shape [0] before any update.
/// State: all rows, merged by concatenation; grows with the data.
/// NaN: see NanStrategy; by default rows with a NaN are ignored with a warning.
/// kReplace replaces the elements that are NaN. On a GPU, all except kDisable
/// synchronize in every update.
/// Errors: c10::TypeError for complex and sparse tensors; c10::ValueError for
/// rows that do not match earlier ones, and for NaN with NanStrategy::kError.
/// Differentiable if the dtype is.
///
/// Example:
///     CatMetric scores;
///     for (const Batch& batch : batches) scores.update(score_of(batch));
///     at::Tensor all = scores.compute();
class CatMetric final : public MetricOf<CatMetric, CatAggregation, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CatMetric";
  static constexpr MetricSummary kSummary{"Concatenation of all values.", "any",
                                          "", "cat, concatenation",
                                          R"((x_1, \ldots, x_N))"};
  static constexpr bool kIsDifferentiable = true;

  at::Tensor evaluate(const State& state) const;
  Dimensions dimensions() const override { return {Dimension::kSample}; }
};

extern template class MetricOf<CatMetric, CatAggregation, at::Tensor>;

}  // namespace tally
