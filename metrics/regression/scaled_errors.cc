#include "tally/metrics/regression/scaled_errors.h"

#include <ATen/ops/where.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/metrics/common/checks.h"

namespace tally {
namespace {

std::optional<std::int64_t> first_true(const at::Tensor& mask) {
  const at::Tensor places = mask.nonzero();
  if (places.size(0) == 0) return std::nullopt;
  return places[0][0].item<std::int64_t>();
}

void check_forecasts(const char* input, const at::Tensor& preds,
                     const at::Tensor& target) {
  internal::check_real(input, preds);
  internal::check_real("target", target);
  internal::check_same_shape(input, preds, "target", target);
  TORCH_CHECK_VALUE(target.dim() == 2 && target.size(1) > 0,
                    "expected preds and target of shape [N, H], a row for each "
                    "series, got ",
                    target.sizes());
}

void check_train(const MeanAbsoluteScaledErrorOptions& options,
                 const at::Tensor& target, const at::Tensor& train,
                 bool validate) {
  internal::check_real("train", train);
  internal::check_same_device("target", target, "train", train);
  if (options.scale() == ForecastScale::kGiven) {
    TORCH_CHECK_VALUE(train.dim() == 1 && train.size(0) == target.size(0),
                      "expected train of shape [", target.size(0),
                      "], the scale of each series, got ", train.sizes());
    const at::Tensor plain = train.detach();
    const auto negative =
        validate ? first_true(plain.lt(0)) : std::optional<std::int64_t>();
    TORCH_CHECK_VALUE(!negative, "expected scales of at least 0, got ",
                      plain[*negative].item<double>(), " at position ",
                      *negative);
    return;
  }
  TORCH_CHECK_VALUE(train.dim() == 2 && train.size(0) == target.size(0) &&
                        train.size(1) > options.season(),
                    "expected train of shape [", target.size(0),
                    ", T], the series before target, with T above season=",
                    options.season(), ", got ", train.sizes());
}

// [N].
at::Tensor scales_of(const MeanAbsoluteScaledErrorOptions& options,
                     const at::Tensor& train) {
  return options.scale() == ForecastScale::kGiven
             ? train.to(at::kDouble)
             : seasonal_naive_scale(train, options.season());
}

at::Tensor scaled_errors(const at::Tensor& preds, const at::Tensor& target,
                         const at::Tensor& scales) {
  return preds.to(at::kDouble)
      .sub(target.to(at::kDouble))
      .abs()
      .mean(1)
      .div(scales);
}

at::Tensor symmetric_errors(const at::Tensor& preds, const at::Tensor& target) {
  const at::Tensor p = preds.to(at::kDouble);
  const at::Tensor t = target.to(at::kDouble);
  const at::Tensor size = p.abs().add(t.abs());
  // A divisor of 1 where both are 0 leaves the gradient finite.
  const at::Tensor divisor = at::where(size.eq(0), 1, size);
  return p.sub(t).abs().div(divisor).mean(1).mul(2);
}

using SeriesInputs = std::vector<std::pair<const char*, at::Tensor>>;

/// Leaves out the series with NaN in any input, under kIgnore; throws under
/// kError.
void handle_nan(SeriesInputs& inputs, NanPolicy policy) {
  if (policy == NanPolicy::kPropagate) return;
  at::Tensor kept;
  for (const auto& [name, input] : inputs) {
    const at::Tensor nan = input.detach().isnan();
    const at::Tensor rows = nan.dim() > 1 ? nan.any(1) : nan;
    if (policy == NanPolicy::kError) {
      const auto row = first_true(rows);
      TORCH_CHECK_VALUE(!row, "expected ", name,
                        " without NaN, got one in series ", *row);
    }
    kept = kept.defined() ? kept.logical_and(rows.logical_not())
                          : rows.logical_not();
  }
  const at::Tensor places = kept.nonzero().squeeze(1);
  if (places.size(0) == kept.size(0)) return;
  for (auto& [name, input] : inputs) input = input.index_select(0, places);
}

}  // namespace

void MeanAbsoluteScaledErrorOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(season_ >= 1, metric,
                    ": expected season to be at least 1, got ", season_);
}

at::Tensor seasonal_naive_scale(const at::Tensor& train, std::int64_t season) {
  internal::check_real("train", train);
  TORCH_CHECK_VALUE(season >= 1, "expected season to be at least 1, got ",
                    season);
  TORCH_CHECK_VALUE(train.dim() > 0 && train.size(-1) > season,
                    "expected train of shape [..., T] with T above season=",
                    season, ", got ", train.sizes());
  const at::Tensor wide = train.to(at::kDouble);
  const std::int64_t steps = wide.size(-1) - season;
  return wide.narrow(-1, season, steps)
      .sub(wide.narrow(-1, 0, steps))
      .abs()
      .mean(-1);
}

ScaledErrors::State ScaledErrors::observe(const at::Tensor& preds,
                                          const at::Tensor& target,
                                          const at::Tensor& train) const {
  check_forecasts("preds", preds, target);
  check_train(options_, target, train, validate_);
  SeriesInputs inputs = {
      {"preds", preds}, {"target", target}, {"train", train}};
  handle_nan(inputs, nan_policy_);
  const at::Tensor& values = inputs[1].second;
  State state;
  state.total = values.size(0);
  state.sum = Number(scaled_errors(inputs[0].second, values,
                                   scales_of(options_, inputs[2].second))
                         .sum());
  return state;
}

ComparedForecasts::State ComparedForecasts::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& benchmark, const at::Tensor& train) const {
  check_forecasts("preds", preds, target);
  check_forecasts("benchmark", benchmark, target);
  check_train(options_, target, train, validate_);
  SeriesInputs inputs = {{"preds", preds},
                         {"target", target},
                         {"benchmark", benchmark},
                         {"train", train}};
  handle_nan(inputs, nan_policy_);
  const at::Tensor& values = inputs[1].second;
  const at::Tensor scales = scales_of(options_, inputs[3].second);
  const auto sums = [&](const at::Tensor& forecasts) {
    return std::make_pair(
        Number(scaled_errors(forecasts, values, scales).sum()),
        Number(symmetric_errors(forecasts, values).sum()));
  };
  State state;
  state.total = values.size(0);
  std::tie(state.scaled, state.percentage) = sums(inputs[0].second);
  std::tie(state.benchmark_scaled, state.benchmark_percentage) =
      sums(inputs[2].second);
  return state;
}

template class MetricOf<MeanAbsoluteScaledError, ScaledErrors, at::Tensor>;
template class MetricOf<OverallWeightedAverage, ComparedForecasts, at::Tensor>;

}  // namespace tally
