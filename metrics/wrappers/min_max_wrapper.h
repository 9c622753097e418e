#pragma once

#include <string>

#include "tally/metrics/core/metric_traits.h"
#include "tally/metrics/wrappers/wrapper_metric.h"

namespace tally {

/// A metric's value with the smallest and largest value returned by compute().
///
///     raw = metric;  min = min_i raw_i;  max = max_i raw_i
///
/// over all calls of compute(), including this one, elementwise; NaN is
/// ignored. reset() keeps min and max: they are those of the whole experiment.
/// forward() only uses its batch, and min and max are its value.
///
/// Like compute(), min and max are the same on all ranks. With
/// sync_on_compute(false) each rank has its own, and a sync merges those of all
/// ranks.
///
/// update(): as for the metric.
/// Result: "raw", "min", "max", each with the metric's shape; +infinity and
/// -infinity if all values so far were NaN.
/// State: that of the metric, which it shares with others in a collection; and
/// min and max, merged by kMin and kMax, which are saved with it. NaN in inputs
/// and empty inputs are handled by the metric. Errors: c10::ValueError if the
/// metric's value is not a single tensor. raw is differentiable if the metric
/// is.
///
/// Example:
///     MinMaxMetric accuracy(MulticlassAccuracy(10));
///     for (const Batch& batch : batches) accuracy.update(preds, target);
///     at::Tensor best = accuracy.compute()["max"];
///     accuracy.reset();  // for the next epoch
class MinMaxMetric final : public MetricWrapper {
 public:
  using Options = NoOptions;
  static constexpr const char* kName = "MinMaxMetric";
  static constexpr MetricSummary kSummary{
      "A metric, with its smallest and largest value so far.", "any",
      "metric=MeanSquaredError()", "min and max so far, best value"};

  explicit MinMaxMetric(OwnedMetric metric, Options options = {});

  std::string name() const override { return kName; }
  AnyState make_batch() const override { return metric().make_batch(); }
  void observe_into(AnyState& fresh, Inputs inputs,
                    const BatchOrigin& origin) const override;
  AnyState make_kept() const override;
  void compute_into(const AnyState& state, AnyState& kept,
                    const std::string& name, Results& results) const override;

 protected:
  std::string options_text() const override { return ""; }
  StateKey key() const override;
  std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric> metric) const override {
    return std::make_unique<MinMaxMetric>(std::move(metric));
  }
};

}  // namespace tally
