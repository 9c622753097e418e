#pragma once

#include <limits>

#include "tally/metrics/aggregation/aggregation_options.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The observer of MinMetric and MaxMetric.
class ExtremesAggregation {
 public:
  static constexpr const char* kName = "ExtremesAggregation";
  static constexpr InputInfo kInputs[] = {
      {"value", InputKind::kReal, "real [...]"}};
  using Options = AggregationOptions;
  struct State {
    Number min = std::numeric_limits<double>::infinity();
    Number max = -std::numeric_limits<double>::infinity();
    Note nan{internal::aggregation::kNan};
    void fields(Fields& f) {
      f("min", min, Merge::kMin)("max", max, Merge::kMax)(nan);
    }
  };

  ExtremesAggregation(const Options& options,
                      const MetricOptions& metric_options)
      : nan_strategy_(
            internal::aggregation::nan_strategy(options, metric_options)),
        nan_value_(options.nan_value()) {}

  State observe(const at::Tensor& value) const;

 private:
  NanStrategy nan_strategy_;
  double nan_value_;
};

/// The smallest of all values.
///
///     min_i value_i
///
/// update(value): a tensor of any shape and any real dtype, or a number.
/// Result: 0-dim float64, integers beyond 2^53 rounded; +infinity before any
/// update and if there are no values.
/// State: the extremes in float64, merged by min and max. A MinMetric and a
/// MaxMetric in one collection share it.
/// NaN: see NanStrategy; by default ignored with a warning. Infinities are
/// included.
/// Errors: c10::TypeError for complex and sparse tensors; c10::ValueError for
/// NaN with NanStrategy::kError.
/// Not differentiable: for equal values the gradient would depend on their
/// distribution over ranks.
///
/// Example:
///     MinMetric lowest;
///     lowest.update(losses);  // or a number: lowest.update(0.25)
///     at::Tensor value = lowest.compute();
class MinMetric final
    : public MetricOf<MinMetric, ExtremesAggregation, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MinMetric";
  static constexpr MetricSummary kSummary{"Smallest of all values.", "any", "",
                                          "min, minimum", R"(\min_n x_n)"};

  at::Tensor evaluate(const State& state) const { return state.min; }
};

/// The largest of all values.
///
///     max_i value_i
///
/// Otherwise like MinMetric; -infinity before any update and if there are no
/// values.
///
/// Example:
///     MaxMetric best;
///     best.update(scores);  // or a number: best.update(0.25)
///     at::Tensor value = best.compute();
class MaxMetric final
    : public MetricOf<MaxMetric, ExtremesAggregation, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MaxMetric";
  static constexpr MetricSummary kSummary{"Largest of all values.", "any", "",
                                          "max, maximum", R"(\max_n x_n)"};

  at::Tensor evaluate(const State& state) const { return state.max; }
};

extern template class MetricOf<MinMetric, ExtremesAggregation, at::Tensor>;
extern template class MetricOf<MaxMetric, ExtremesAggregation, at::Tensor>;

}  // namespace tally
