#include "tally/metrics/aggregation/aggregation_options.h"

#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/checks.h"

namespace tally {

void AggregationOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(!std::isnan(nan_value_), metric,
                    ": expected nan_value to be a number, got NaN");
}

namespace internal::aggregation {

NanStrategy nan_strategy(const AggregationOptions& options,
                         const MetricOptions& metric_options) {
  if (options.nan_strategy() == NanStrategy::kWarn) {
    if (metric_options.nan_policy() == NanPolicy::kError) {
      return NanStrategy::kError;
    }
    if (metric_options.nan_policy() == NanPolicy::kIgnore) {
      return NanStrategy::kIgnore;
    }
  }
  return options.nan_strategy();
}

void report_nan(NanStrategy strategy, const char* input,
                const at::Tensor& tensor) {
  if (strategy != NanStrategy::kError && strategy != NanStrategy::kWarn) return;
  if (!has_nan(tensor)) return;
  TORCH_CHECK_VALUE(strategy != NanStrategy::kError, "expected ", input,
                    " without NaN, got some");
  TORCH_WARN_ONCE(
      "NaN in a metric's ", input,
      " was ignored; choose a NanStrategy other than kWarn to silence this");
}

}  // namespace internal::aggregation
}  // namespace tally
