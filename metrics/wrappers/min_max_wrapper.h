#pragma once

#include <string>

#include "tally/metrics/metric_traits.h"
#include "tally/metrics/wrappers/wrapper_metric.h"

namespace tally {

/// A metric's value with the smallest and largest that compute() has given.
///
///     raw = metric;  min = min_i raw_i;  max = max_i raw_i
///
/// over all calls of compute(), this one included, elementwise; NaN is left
/// out. reset() keeps min and max: they are those of the whole experiment.
/// forward() looks at its batch alone, and min and max are its value.
///
/// compute() gives the same on all ranks, and so do min and max. With
/// sync_on_compute(false) each rank has its own, and a sync gives those of all.
///
/// update(): as the metric's.
/// Result: "raw", "min", "max", each of the metric's shape; +infinity and
/// -infinity as long as there were only NaN.
/// State: the metric's, and min and max, merged by kMin and kMax, which are
/// saved with it. NaN in inputs and empty behaviour are those of the metric.
/// Errors: c10::ValueError if the metric's value is not one tensor.
/// raw is differentiable where the metric is.
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

  explicit MinMaxMetric(OwnedMetric metric, Options options = {});

  std::string name() const override { return kName; }
  void observe_into(AnyState& fresh, Inputs inputs,
                    const BatchOrigin& origin) const override;
  void evaluate_into(const AnyState& state, const std::string& name,
                     Results& results) const override;
  void compute_into(AnyState& state, const std::string& name,
                    Results& results) const override;

 protected:
  std::string options_text() const override { return ""; }
  StateKey key() const override;
  std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric> metric) const override {
    return std::make_unique<MinMaxMetric>(std::move(metric));
  }
};

}  // namespace tally
