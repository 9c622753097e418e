#include "tally/metrics/aggregation/sum_metric.h"

#include <cmath>

#include "tally/metrics/checks.h"
#include "tally/metrics/plain_values.h"

namespace tally {
namespace {

double plain_sum(const at::Tensor& value) {
  return internal::visit_values(value, [&](const auto* data) {
    return internal::sum_terms(value.numel(), [data](std::int64_t i) {
      return static_cast<double>(data[i]);
    });
  });
}

}  // namespace

SumAggregation::State SumAggregation::observe(const at::Tensor& value) const {
  internal::check_real("value", value);
  if (value.is_cpu() || nan_strategy_ == NanStrategy::kDisable) {
    const Number sum = internal::is_plain(value)
                           ? Number(plain_sum(value))
                           : Number(value.to(at::kDouble).sum());
    // A NaN in the values would have come through.
    if (nan_strategy_ == NanStrategy::kDisable || !std::isnan(sum.value())) {
      return {sum};
    }
  }
  internal::report_nan(nan_strategy_, "value", value);
  const bool replace = nan_strategy_ == NanStrategy::kReplace;
  const at::Tensor wide = value.to(at::kDouble);
  return {
      Number(wide.masked_fill(wide.isnan(), replace ? nan_value_ : 0.0).sum())};
}

}  // namespace tally
