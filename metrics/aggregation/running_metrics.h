#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/aggregation/sum_metric.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/wrappers/running.h"

namespace tally {

/// Options of RunningMean and RunningSum.
struct RunningAggregationOptions {
  RunningAggregationOptions() : window_(5) {}
  template <class Count, RequireCount<Count> = 0>
  RunningAggregationOptions(Count window)
      : window_(static_cast<std::int64_t>(window)) {}
  /// Number of batches included. Default: 5.
  TORCH_ARG(std::int64_t, window);
  /// As in AggregationOptions.
  TORCH_ARG(NanStrategy, nan_strategy) = NanStrategy::kWarn;
  TORCH_ARG(double, nan_value) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("window", window_, OptionRole::kSize, internal::words::kWindow);
    v("nan_strategy", nan_strategy_, internal::words::kNanStrategy);
    v("nan_value", nan_value_, internal::words::kNanValue);
  }
};

namespace internal::aggregation {

/// Running with an aggregation metric, with its options in addition to the
/// window.
template <class Derived, class Inner>
class RunningAggregation : public Running {
 public:
  using Options = RunningAggregationOptions;
  static constexpr bool kIsDifferentiable = Inner::kIsDifferentiable;
  static constexpr std::optional<bool> kHigherIsBetter = std::nullopt;

  explicit RunningAggregation(Options options = {},
                              MetricOptions metric_options = MetricOptions())
      : Running(Derived::kName,
                Inner(AggregationOptions(options.nan_strategy())
                          .nan_value(options.nan_value()),
                      std::move(metric_options)),
                options.window()),
        options_(options) {}

  const Options& options() const { return options_; }
  static c10::ArrayRef<InputInfo> declared_inputs() {
    return Inner::declared_inputs();
  }

  at::Tensor compute() { return Running::compute().value(); }
  template <class... Args>
  at::Tensor forward(const Args&... args) {
    return Running::forward(args...).value();
  }
  at::Tensor forward(std::initializer_list<NamedInput> inputs) {
    return Running::forward(inputs).value();
  }

  std::string name() const override { return Derived::kName; }
  std::string repr() const override {
    return name() + "(" + options_repr(options_) + ")";
  }
  std::string spec() const override { return Metric::spec(); }

 protected:
  std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric>) const override {
    return std::make_unique<Derived>(options_);
  }

 private:
  Options options_;
};

}  // namespace internal::aggregation

/// The weighted mean of the values in the last few batches.
///
/// For update(), result, NaN and errors see MeanMetric; for state, results over
/// ranks and errors of `window` see Running, with which it shares states.
///
/// Example:
///     RunningMean loss(100);
///     loss.update(0.25);
///     at::Tensor lately = loss.compute();
class RunningMean final
    : public internal::aggregation::RunningAggregation<RunningMean,
                                                       MeanMetric> {
 public:
  using RunningAggregation::RunningAggregation;
  static constexpr const char* kName = "RunningMean";
  static constexpr MetricSummary kSummary{
      "Weighted mean over the last batches.", "any", "",
      "running mean, moving average",
      R"(\frac{\sum_{n \in W} w_n x_n}{\sum_{n \in W} w_n})"};
};

/// The sum of the values in the last few batches.
///
/// Otherwise like RunningMean, with SumMetric.
///
/// Example:
///     RunningSum tokens(100);
///     tokens.update(128);
///     at::Tensor lately = tokens.compute();
class RunningSum final
    : public internal::aggregation::RunningAggregation<RunningSum, SumMetric> {
 public:
  using RunningAggregation::RunningAggregation;
  static constexpr const char* kName = "RunningSum";
  static constexpr MetricSummary kSummary{"Sum over the last batches.", "any",
                                          "", "running sum, moving sum",
                                          R"(\sum_{n \in W} x_n)"};
};

}  // namespace tally
