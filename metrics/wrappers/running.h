#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/metrics/wrappers/wrapper_metric.h"
#include "tally/state/state_parts.h"

namespace tally {

/// Options of Running.
struct RunningOptions {
  RunningOptions() : window_(5) {}
  template <class Count, RequireCount<Count> = 0>
  RunningOptions(Count window) : window_(static_cast<std::int64_t>(window)) {}
  /// Number of batches included. Default: 5.
  TORCH_ARG(std::int64_t, window);

 public:
  void visit(OptionVisitor& v) {
    v("window", window_, OptionRole::kSize, internal::words::kWindow);
  }
  void validate(const char* metric) const;
};

/// A metric over the last few batches.
///
/// update(): as for the metric.
/// Result: that of the metric over the last `window` batches; forward() only
/// uses its batch. Over ranks, the k-th batches of all ranks form one step, and
/// the last `window` steps are included: a rank that has fallen behind is not
/// combined with much later batches of others.
/// State: that of the metric, once per batch in the window, merged by
/// compute(); the cost of an update does not depend on the window. NaN and
/// empty inputs are handled by the metric. Errors: c10::ValueError for a window
/// below 1, and for a metric that stores computed values (MinMaxMetric).
/// Differentiable if the metric is.
///
/// Example:
///     Running accuracy(MulticlassAccuracy(10), 100);
///     for (const Batch& batch : batches) {
///       accuracy.update(preds, target);
///     }
///     at::Tensor lately = accuracy.compute().value();
class Running : public MetricWrapper {
 public:
  using Options = RunningOptions;
  static constexpr const char* kName = "Running";
  static constexpr MetricSummary kSummary{
      "A metric over the last batches.", "any", "metric=MeanSquaredError()",
      "running, moving window, sliding window"};

  explicit Running(OwnedMetric metric, Options options = {});

  const Options& options() const { return options_; }

  std::string name() const override { return kName; }
  AnyState make_batch() const final;
  void observe_into(AnyState& fresh, Inputs inputs,
                    const BatchOrigin& origin) const final;
  void evaluate_into(const AnyState& state, const std::string& name,
                     Results& results) const final;

 protected:
  Running(const char* name, OwnedMetric metric, Options options);

  std::string options_text() const override { return options_repr(options_); }
  StateKey key() const final;
  std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric> metric) const override {
    return std::make_unique<Running>(std::move(metric), options_);
  }

 private:
  Options options_;
  std::shared_ptr<const StateParts> empty_;
};

}  // namespace tally
