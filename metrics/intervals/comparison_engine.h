#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tally/metrics/intervals/comparison.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/model_comparison_options.h"
#include "tally/metrics/metric.h"
#include "tally/state/state.h"
#include "tally/state/state_key.h"

namespace tally::internal::intervals {

/// One method of comparing two models: what it accumulates, and what follows.
class ComparisonEngine {
 public:
  explicit ComparisonEngine(ModelComparisonOptions options)
      : options_(std::move(options)) {}
  virtual ~ComparisonEngine() = default;

  const ModelComparisonOptions& options() const { return options_; }

  virtual const Metric& metric() const = 0;
  virtual ComparisonMethod method() const = 0;
  /// Whether results depend on ids.
  virtual bool uses_ids() const { return false; }
  virtual AnyState identity() const = 0;
  virtual StateKey key() const = 0;
  /// The state of a batch, by the metric's inputs for each model. Ids as in
  /// IntervalEngine.
  virtual AnyState observe(Inputs first, Inputs second,
                           const std::vector<std::int64_t>& ids) const = 0;
  virtual Comparisons compare(const AnyState& state,
                              const RowCount& count) const = 0;

 protected:
  /// Of numbers, which are NaN at first.
  Comparison unfilled(const RowCount& count) const;

 private:
  ModelComparisonOptions options_;
};

/// Those of a comparison, for loops over them.
std::vector<at::Tensor*> tensors_of(Comparison& comparison);

/// Checks a batch as the metric's update() does.
void check_inputs(const Metric& metric, Inputs inputs);

/// Throws c10::ValueError if a score of one model is ignored for being NaN
/// where that of the other is not. REQUIRES: inputs that the metric takes.
void check_same_nan(const Metric& metric, Inputs first, Inputs second);

/// McNemar's test, for metrics that are the fraction of rows that are correct;
/// otherwise null, and `metric` is unchanged.
std::unique_ptr<ComparisonEngine> mcnemar_engine(
    std::unique_ptr<Metric>& metric, const ModelComparisonOptions& options);

/// DeLong's test, for the exact area under one ROC curve; otherwise null, and
/// `metric` is unchanged.
std::unique_ptr<ComparisonEngine> delong_engine(
    std::unique_ptr<Metric>& metric, const ModelComparisonOptions& options);

/// The engine of the method in the options, or one chosen by metric. Throws
/// c10::ValueError if it does not fit the metric.
std::unique_ptr<ComparisonEngine> make_comparison_engine(
    std::unique_ptr<Metric> metric, const ModelComparisonOptions& options);

}  // namespace tally::internal::intervals
