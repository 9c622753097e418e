#pragma once

#include "tally/metrics/metric_options.h"

namespace tally {

/// What SumMetric, MeanMetric, MinMetric, MaxMetric and CatMetric do with NaN.
enum class NanStrategy {
  kError,    ///< c10::ValueError, and nothing changes
  kWarn,     ///< leave it out, and warn once
  kIgnore,   ///< leave it out
  kDisable,  ///< do not look: it goes into the result
  kReplace,  ///< put `nan_value` in its place
};

template <>
struct EnumNames<NanStrategy> {
  static constexpr const char* kNames[] = {"error", "warn", "ignore", "disable",
                                           "replace"};
};

/// Options of the aggregation metrics.
///
/// The strategy decides what happens to NaN. MetricOptions::nan_policy counts
/// only where the strategy is left at kWarn: kError and kIgnore then mean
/// NanStrategy::kError and kIgnore.
///
/// Example: `MeanMetric loss(NanStrategy::kIgnore);`
struct AggregationOptions {
  AggregationOptions(NanStrategy nan_strategy = NanStrategy::kWarn)
      : nan_strategy_(nan_strategy) {}
  /// Default: kWarn. On a GPU kError and kWarn wait for it in every update.
  TORCH_ARG(NanStrategy, nan_strategy);
  /// What kReplace puts in the place of NaN. Default: 0.
  TORCH_ARG(double, nan_value) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("nan_strategy", nan_strategy_);
    v("nan_value", nan_value_);
  }
  void validate(const char* metric) const;
};

namespace internal::aggregation {

/// What `options` and `metric_options` together say.
NanStrategy nan_strategy(const AggregationOptions& options,
                         const MetricOptions& metric_options);

/// For kError and kWarn: throws or warns if there is a NaN.
void report_nan(NanStrategy strategy, const char* input,
                const at::Tensor& tensor);

}  // namespace internal::aggregation
}  // namespace tally
