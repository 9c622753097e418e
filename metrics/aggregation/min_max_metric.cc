#include "tally/metrics/aggregation/min_max_metric.h"

#include <algorithm>
#include <cmath>

#include "tally/metrics/checks.h"
#include "tally/metrics/plain_values.h"

namespace tally {
namespace {

using State = ExtremesAggregation::State;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
State extremes_of(const T* values, std::int64_t count) {
  T low = values[0];
  T high = values[0];
  bool has_nan = false;
  for (std::int64_t i = 0; i < count; ++i) {
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
    has_nan |= values[i] != values[i];
  }
  return has_nan ? State{kNaN, kNaN} : State{low, high};
}

State extremes(const at::Tensor& value) {
  if (value.numel() == 0) return {};
  if (internal::is_plain(value)) {
    return internal::visit_values(value, [&](const auto* data) {
      return extremes_of(data, value.numel());
    });
  }
  const at::Tensor wide = value.to(at::kDouble);
  return {Number(wide.min()), Number(wide.max())};
}

}  // namespace

ExtremesAggregation::State ExtremesAggregation::observe(
    const at::Tensor& value) const {
  internal::check_real("value", value);
  const at::Tensor given = value.requires_grad() ? value.detach() : value;
  Note note(internal::aggregation::kNan);
  if (nan_strategy_ == NanStrategy::kWarn) note.add_rows(given.numel());
  if (given.is_cpu() || nan_strategy_ == NanStrategy::kDisable) {
    State state = extremes(given);
    if (nan_strategy_ == NanStrategy::kDisable ||
        !std::isnan(state.min.value())) {
      state.nan = note;
      return state;
    }
  }
  internal::aggregation::report_nan(nan_strategy_, "value", given, note);
  const at::Tensor wide = given.to(at::kDouble);
  const at::Tensor nan = wide.isnan();
  if (nan_strategy_ == NanStrategy::kReplace) {
    return extremes(wide.masked_fill(nan, nan_value_));
  }
  return {extremes(wide.masked_fill(nan, kInfinity)).min,
          extremes(wide.masked_fill(nan, -kInfinity)).max, note};
}

}  // namespace tally
