#include "tally/metrics/aggregation/aggregation_options.h"

#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/checks.h"

namespace tally {

void AggregationOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(!std::isnan(nan_value_), metric,
                    ": expected nan_value to be a number, got NaN");
}

std::vector<std::string> AggregationOptions::without_effect() const {
  if (nan_value_ == 0 || nan_strategy_ == NanStrategy::kReplace) return {};
  return {"nan_value has no effect without nan_strategy replace"};
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
                const at::Tensor& tensor, Note& note) {
  if (strategy != NanStrategy::kError && strategy != NanStrategy::kWarn) return;
  const at::Tensor nan = tensor.detach().isnan().reshape(-1).to(at::kByte);
  const std::int64_t count = nan.sum().item<std::int64_t>();
  if (count == 0) return;
  TORCH_CHECK_VALUE(strategy != NanStrategy::kError, "expected ", input,
                    " without NaN, got some");
  note.add_marks(count, nan.argmax().item<std::int64_t>());
}

}  // namespace internal::aggregation
}  // namespace tally
