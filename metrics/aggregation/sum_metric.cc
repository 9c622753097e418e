#include "tally/metrics/aggregation/sum_metric.h"

#include <cmath>

#include "tally/metrics/checks.h"
#include "tally/metrics/plain_values.h"

namespace tally {
namespace {

// LibTorch's sum, whose order depends on the number of threads, is for graphs
// and other devices alone.
Number sum_of(const at::Tensor& value) {
  const auto in_order = value.expect_contiguous();
  if (!internal::is_plain(*in_order)) {
    return Number(in_order->to(at::kDouble).sum());
  }
  return internal::visit_values(*in_order, [&](const auto* data) {
    return internal::sum_terms(in_order->numel(), [data](std::int64_t i) {
      return static_cast<double>(data[i]);
    });
  });
}

}  // namespace

SumAggregation::State SumAggregation::observe(const at::Tensor& value) const {
  internal::check_real("value", value);
  State state;
  if (nan_strategy_ == NanStrategy::kWarn) state.nan.add_rows(value.numel());
  if (value.is_cpu() || nan_strategy_ == NanStrategy::kDisable) {
    state.sum = sum_of(value);
    // A NaN in the values would have come through.
    if (nan_strategy_ == NanStrategy::kDisable ||
        !std::isnan(state.sum.value())) {
      return state;
    }
  }
  internal::aggregation::report_nan(nan_strategy_, "value", value, state.nan);
  const bool replace = nan_strategy_ == NanStrategy::kReplace;
  const at::Tensor wide = value.to(at::kDouble);
  state.sum =
      sum_of(wide.masked_fill(wide.isnan(), replace ? nan_value_ : 0.0));
  return state;
}

}  // namespace tally
