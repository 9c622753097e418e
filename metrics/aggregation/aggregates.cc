#include <ATen/ExpandUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/aggregation/aggregation_options.h"
#include "tally/metrics/aggregation/cat_metric.h"
#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/aggregation/min_max_metric.h"
#include "tally/metrics/aggregation/sum_metric.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/plain_values.h"

namespace tally {
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

MeanAggregation::State plain_sums(const at::Tensor& value,
                                  const at::Tensor& weight) {
  const std::int64_t count = value.numel();
  if (weight.defined() && weight.numel() != 1) {
    return internal::visit_values(
        value, weight, [count](const auto* values, const auto* weights) {
          MeanAggregation::State sums;
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
    return MeanAggregation::State{
        internal::sum_terms(count,
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
MeanAggregation::State sums(const at::Tensor& value, const at::Tensor& weight) {
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

template <class T>
ExtremesAggregation::State extremes_of(const T* values, std::int64_t count) {
  constexpr int kLanes = 8;
  T low[kLanes], high[kLanes];
  std::fill_n(low, kLanes, values[0]);
  std::fill_n(high, kLanes, values[0]);
  bool has_nan = false;
  internal::visit_in_lanes<kLanes>(count, [&](std::int64_t i, int lane) {
    low[lane] = std::min(low[lane], values[i]);
    high[lane] = std::max(high[lane], values[i]);
    has_nan |= values[i] != values[i];
  });
  if (has_nan) return {internal::kNaN, internal::kNaN};
  return {*std::min_element(low, low + kLanes),
          *std::max_element(high, high + kLanes)};
}

ExtremesAggregation::State extremes(const at::Tensor& value) {
  if (value.numel() == 0) return {};
  if (internal::is_plain(value)) {
    return internal::visit_values(value, [&](const auto* data) {
      return extremes_of(data, value.numel());
    });
  }
  const at::Tensor wide = value.to(at::kDouble);
  return {Number(wide.min()), Number(wide.max())};
}

at::Tensor nan_rows(const at::Tensor& rows) {
  return rows.isnan().reshape({rows.size(0), -1}).any(1);
}

}  // namespace

void AggregationOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(!std::isnan(nan_value_), metric,
                    ": expected nan_value to be a number, got NaN");
}

std::vector<std::string> AggregationOptions::without_effect() const {
  if (nan_value_ == 0 || nan_strategy_ == NanStrategy::kReplace) return {};
  return {"nan_value has no effect without nan_strategy replace"};
}

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
    MeanAggregation::State state = can_loop(value, weight)
                                       ? plain_sums(value, weight)
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

at::Tensor MeanAggregation::row_sums(Inputs inputs) {
  const at::Tensor value = internal::float64_column(inputs, 0);
  if (!value.defined()) return {};
  return internal::weighted_terms(value, inputs, 1);
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
  MeanAggregation::State state = sums(wide_value, wide_weight);
  if (nan_strategy_ == NanStrategy::kWarn) state.nan = note;
  return state;
}

ExtremesAggregation::State ExtremesAggregation::observe(
    const at::Tensor& value) const {
  internal::check_real("value", value);
  const at::Tensor given = value.requires_grad() ? value.detach() : value;
  Note note(internal::aggregation::kNan);
  if (nan_strategy_ == NanStrategy::kWarn) note.add_rows(given.numel());
  if (given.is_cpu() || nan_strategy_ == NanStrategy::kDisable) {
    ExtremesAggregation::State state = extremes(given);
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
  return {extremes(wide.masked_fill(nan, internal::kInfinity)).min,
          extremes(wide.masked_fill(nan, -internal::kInfinity)).max, note};
}

CatAggregation::State CatAggregation::observe(const at::Tensor& value) const {
  internal::check_real("value", value);
  at::Tensor rows = value.dim() == 0 ? value.unsqueeze(0) : value;
  State state;
  if (nan_strategy_ == NanStrategy::kWarn) state.nan.add_rows(rows.size(0));
  if (nan_strategy_ != NanStrategy::kDisable && internal::has_nan(rows)) {
    const at::Tensor nan = nan_rows(rows);
    internal::aggregation::report_nan(
        nan_strategy_, "value",
        at::zeros({rows.size(0)}, nan.options().dtype(at::kDouble))
            .masked_fill(nan, std::nan("")),
        state.nan);
    rows = nan_strategy_ == NanStrategy::kReplace
               ? rows.masked_fill(rows.isnan(), nan_value_)
               : rows.index_select(0, nan.logical_not().nonzero().squeeze(1));
  }
  // A result with a graph is not copied on its way out.
  if (rows.requires_grad()) rows = rows.clone();
  state.value = Rows(rows);
  return state;
}

at::Tensor CatMetric::evaluate(const State& state) const {
  return state.value.defined() ? state.value.tensor()
                               : at::empty({0}, at::kDouble);
}

template class MetricOf<CatMetric, CatAggregation, at::Tensor>;
template class MetricOf<MeanMetric, MeanAggregation, at::Tensor>;
template class MetricOf<MinMetric, ExtremesAggregation, at::Tensor>;
template class MetricOf<MaxMetric, ExtremesAggregation, at::Tensor>;
template class MetricOf<SumMetric, SumAggregation, at::Tensor>;

}  // namespace tally
