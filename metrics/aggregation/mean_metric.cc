#include "tally/metrics/aggregation/mean_metric.h"

#include <ATen/ExpandUtils.h>
#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/checks.h"
#include "tally/metrics/plain_values.h"

namespace tally {
namespace {

using State = MeanAggregation::State;

State plain_sums(const at::Tensor& value, const at::Tensor& weight) {
  const std::int64_t count = value.numel();
  if (weight.defined() && weight.numel() != 1) {
    return internal::visit_values(
        value, weight, [count](const auto* values, const auto* weights) {
          State sums;
          sums.sum = internal::sum_terms(count, [=](std::int64_t i) {
            return static_cast<double>(values[i]) *
                   static_cast<double>(weights[i]);
          });
          sums.weight = internal::sum_terms(count, [=](std::int64_t i) {
            return static_cast<double>(weights[i]);
          });
          return sums;
        });
  }
  const double one_weight =
      weight.defined()
          ? internal::visit_values(
                weight,
                [](const auto* data) { return static_cast<double>(*data); })
          : 1.0;
  return internal::visit_values(value, [&](const auto* values) {
    return State{internal::sum_terms(count,
                                     [=](std::int64_t i) {
                                       return static_cast<double>(values[i]) *
                                              one_weight;
                                     }),
                 one_weight * static_cast<double>(count)};
  });
}

at::Tensor expanded_weight(const at::Tensor& value, const at::Tensor& weight) {
  const at::Tensor wide = weight.defined()
                              ? weight.to(value.device(), at::kDouble)
                              : value.new_ones({}, at::kDouble);
  return wide.expand_as(value);
}

// LibTorch's sums, whose order depends on the number of threads, are for graphs
// and other devices alone.
State sums(const at::Tensor& value, const at::Tensor& weight) {
  const at::Tensor wide = value.to(at::kDouble).contiguous();
  const at::Tensor weights = expanded_weight(value, weight).contiguous();
  if (internal::is_plain(wide) && internal::is_plain(weights)) {
    return plain_sums(wide, weights);
  }
  return {Number(wide.mul(weights).sum()), Number(weights.sum())};
}

bool can_loop(const at::Tensor& value, const at::Tensor& weight) {
  return internal::is_plain(value) &&
         (!weight.defined() ||
          (internal::is_plain(weight) &&
           (weight.numel() == 1 || weight.sizes() == value.sizes())));
}

}  // namespace

MeanAggregation::State MeanAggregation::observe(
    const at::Tensor& value, const at::Tensor& weight) const {
  internal::check_real("value", value);
  if (weight.defined()) {
    internal::check_real("weight", weight);
    // A number as the weight is a 0-dim tensor on the CPU.
    if (weight.dim() > 0 || !weight.is_cpu()) {
      internal::check_same_device("value", value, "weight", weight);
    }
    TORCH_CHECK_VALUE(at::is_expandable_to(weight.sizes(), value.sizes()),
                      "expected weight of a shape that broadcasts to that of "
                      "value, ",
                      value.sizes(), ", got ", weight.sizes());
  }
  if (value.is_cpu() || nan_strategy_ == NanStrategy::kDisable) {
    State state = can_loop(value, weight) ? plain_sums(value, weight)
                                          : sums(value, weight);
    // A NaN in the inputs would have come through.
    if (nan_strategy_ == NanStrategy::kDisable ||
        !std::isnan(state.sum.value() + state.weight.value())) {
      if (nan_strategy_ == NanStrategy::kWarn)
        state.nan.add_rows(value.numel());
      return state;
    }
  }
  return observe_nan(value, weight);
}

MeanAggregation::State MeanAggregation::observe_nan(
    const at::Tensor& value, const at::Tensor& weight) const {
  at::Tensor wide_value = value.to(at::kDouble);
  at::Tensor wide_weight = expanded_weight(value, weight);
  Note note(internal::aggregation::kNan);
  note.add_rows(value.numel());
  if (nan_strategy_ == NanStrategy::kError) {
    internal::aggregation::report_nan(nan_strategy_, "value", value, note);
    internal::aggregation::report_nan(nan_strategy_, "weight", wide_weight,
                                      note);
  }
  const at::Tensor nan_value = wide_value.isnan();
  const at::Tensor nan_weight = wide_weight.isnan();
  if (nan_strategy_ == NanStrategy::kReplace) {
    wide_value = wide_value.masked_fill(nan_value, nan_value_)
                     .masked_fill(nan_weight, 0);
    wide_weight = wide_weight.masked_fill(nan_weight, 0);
  } else {
    const at::Tensor nan = nan_value.logical_or(nan_weight);
    internal::aggregation::report_nan(
        nan_strategy_, "value",
        wide_value.detach().masked_fill(nan, std::nan("")), note);
    wide_value = wide_value.masked_fill(nan, 0);
    wide_weight = wide_weight.masked_fill(nan, 0);
  }
  State state = sums(wide_value, wide_weight);
  if (nan_strategy_ == NanStrategy::kWarn) state.nan = note;
  return state;
}

}  // namespace tally
