#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/metric_of.h"

namespace tally {

/// What forecasts are scaled by.
enum class ForecastScale {
  kTrain,  ///< the training series, of which the scale is computed
  kGiven,  ///< the scale itself
};

template <>
struct EnumNames<ForecastScale> {
  static constexpr const char* kNames[] = {"train", "given"};
};

/// Options of MeanAbsoluteScaledError and OverallWeightedAverage.
///
/// Example:
///     MeanAbsoluteScaledErrorOptions monthly;
///     monthly.season(12);
struct MeanAbsoluteScaledErrorOptions {
  /// The number of steps in a season: 1 for series without seasons, 12 for
  /// monthly ones.
  TORCH_ARG(std::int64_t, season) = 1;
  /// Whether `train` holds the training series or their scales.
  TORCH_ARG(ForecastScale, scale) = ForecastScale::kTrain;

 public:
  void visit(OptionVisitor& v) {
    v("season", season_, "Steps in a season; 1: none.");
    v("scale", scale_, "Whether train holds training series or their scales.");
  }
  void validate(const char* metric) const;
};
using OverallWeightedAverageOptions = MeanAbsoluteScaledErrorOptions;

/// The scale of MeanAbsoluteScaledError: for each training series, the mean
/// absolute error of the forecast that repeats the value one season before.
///
///     sum_{t > season} |y_t - y_{t - season}| / (T - season)
///
/// `train` is [..., T], of any real dtype, T above season; the result is [...]
/// in float64. For series of different lengths, concatenate the scales of each.
/// NaN propagates. Differentiable. Throws c10::ValueError for other shapes and
/// for a season below 1, c10::TypeError for complex or sparse tensors.
///
/// Example:
///     at::Tensor scale = seasonal_naive_scale(at::randn({24}), 12);
at::Tensor seasonal_naive_scale(const at::Tensor& train,
                                std::int64_t season = 1);

/// The observer of MeanAbsoluteScaledError.
class ScaledErrors {
 public:
  static constexpr const char* kName = "ScaledErrors";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kReal, "real [N, H]"},
      {"target", InputKind::kReal, "real [N, H]"},
      {"train", InputKind::kReal, "real [N, T], or [N] of scales"}};
  using Options = MeanAbsoluteScaledErrorOptions;
  struct State {
    Number sum;
    std::int64_t total = 0;
    void fields(Fields& f) { f("sum", sum)("total", total); }
  };

  ScaledErrors(const Options& options, const MetricOptions& metric_options)
      : options_(options),
        nan_policy_(metric_options.nan_policy()),
        validate_(metric_options.validate_args()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& train) const;

 private:
  Options options_;
  NanPolicy nan_policy_;
  bool validate_;
};

/// The mean absolute scaled error (MASE) of forecasts of time series: errors
/// relative to those of repeating the value one season before, in the training
/// series.
///
///     mean over series of
///     sum_h |preds_h - target_h| / H
///         / (sum_{t > season} |train_t - train_{t - season}| / (T - season))
///
/// update(preds, target, train): [N, H], the forecasts and values of H steps of
/// N series, and [N, T], the N series before them, T above season; with
/// scale(ForecastScale::kGiven) train is [N], the divisors themselves, as
/// seasonal_naive_scale() computes them. Any real dtypes. Series of different
/// horizons are different batches.
/// Result: 0-dim float64, 0 or more; below 1 the forecasts are better than that
/// of repeating. NaN before any update. A series whose training values repeat
/// exactly has no scale: infinite, or NaN for forecasts without error.
/// State: the sum over series in float64 and their number, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore ignores the series.
/// Errors: c10::ValueError for other shapes, for scales below 0 (unless
/// validate_args is off) and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs.
/// Differentiable in preds, target and train.
/// Source: Hyndman and Koehler 2006.
///
/// Example:
///     MeanAbsoluteScaledError mase(
///         MeanAbsoluteScaledErrorOptions().season(12));
///     mase.update(at::randn({8, 6}), at::randn({8, 6}), at::randn({8, 48}));
///     double value = mase.compute().item<double>();
class MeanAbsoluteScaledError final
    : public MetricOf<MeanAbsoluteScaledError, ScaledErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanAbsoluteScaledError";
  static constexpr MetricSummary kSummary{
      "Absolute error of forecasts over that of the naive forecast (MASE).",
      "[0, inf)",
      "",
      "mase, mean absolute scaled error",
      R"(\frac{\frac{1}{H} \sum_h |\hat y_h - y_h|}{\frac{1}{T - m} \sum_{t = m + 1}^{T} |y_t - y_{t - m}|})",
      "Hyndman and Koehler 2006"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const {
    return state.sum / state.total;
  }
};

/// The observer of OverallWeightedAverage.
class ComparedForecasts {
 public:
  static constexpr const char* kName = "ComparedForecasts";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kReal, "real [N, H]"},
      {"target", InputKind::kReal, "real [N, H]"},
      {"benchmark", InputKind::kReal, "real [N, H]"},
      {"train", InputKind::kReal, "real [N, T], or [N] of scales"}};
  using Options = MeanAbsoluteScaledErrorOptions;
  struct State {
    Number scaled, percentage;                      // of preds
    Number benchmark_scaled, benchmark_percentage;  // of the benchmark
    std::int64_t total = 0;
    void fields(Fields& f) {
      f("scaled", scaled)("percentage", percentage);
      f("benchmark_scaled", benchmark_scaled);
      f("benchmark_percentage", benchmark_percentage)("total", total);
    }
  };

  ComparedForecasts(const Options& options, const MetricOptions& metric_options)
      : options_(options),
        nan_policy_(metric_options.nan_policy()),
        validate_(metric_options.validate_args()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& benchmark, const at::Tensor& train) const;

 private:
  Options options_;
  NanPolicy nan_policy_;
  bool validate_;
};

/// The overall weighted average (OWA) of the M4 competition: forecasts compared
/// with those of a benchmark, by the mean of two ratios.
///
///     (MASE / MASE of the benchmark + sMAPE / sMAPE of the benchmark) / 2
///
/// sMAPE is the mean over series of 2 / H sum_h |preds_h - target_h| /
/// (|preds_h| + |target_h|), where 0 / 0 is 0. M4's benchmark is Naive 2, the
/// last value after seasonal adjustment.
///
/// update(preds, target, benchmark, train): [N, H], the forecasts, the values
/// and the benchmark's forecasts of H steps of N series, and `train` as for
/// MeanAbsoluteScaledError.
/// Result: 0-dim float64, 0 or more; below 1 the forecasts are better than the
/// benchmark's, and equal ones have 1. NaN before any update; infinite for a
/// benchmark without error.
/// State: four sums over series in float64 and their number, merged by
/// addition.
/// NaN, errors: as MeanAbsoluteScaledError.
/// Differentiable in all inputs.
/// Source: Makridakis, Spiliotis and Assimakopoulos 2020.
///
/// Example:
///     OverallWeightedAverage owa;
///     owa.update(at::rand({8, 6}), at::rand({8, 6}), at::rand({8, 6}),
///                at::rand({8, 48}));
///     double value = owa.compute().item<double>();
class OverallWeightedAverage final
    : public MetricOf<OverallWeightedAverage, ComparedForecasts, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "OverallWeightedAverage";
  static constexpr MetricSummary kSummary{
      "Errors of forecasts over those of a benchmark, as in M4 (OWA).",
      "[0, inf)",
      "",
      "owa, overall weighted average",
      R"(\frac{1}{2} \left( \frac{MASE}{MASE_b} + \frac{sMAPE}{sMAPE_b} \right))",
      "Makridakis, Spiliotis and Assimakopoulos 2020"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const {
    return (state.scaled / state.benchmark_scaled +
            state.percentage / state.benchmark_percentage) /
           2;
  }
};

extern template class MetricOf<MeanAbsoluteScaledError, ScaledErrors,
                               at::Tensor>;
extern template class MetricOf<OverallWeightedAverage, ComparedForecasts,
                               at::Tensor>;

}  // namespace tally
