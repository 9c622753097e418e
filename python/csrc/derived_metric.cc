#include "tally/python/csrc/derived_metric.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "tally/metrics/wrappers/wrapper_metric.h"

namespace tally::python {
namespace {

class DerivedMetric final : public MetricWrapper {
 public:
  DerivedMetric(std::unique_ptr<Metric> value, std::unique_ptr<Metric> source)
      : MetricWrapper("DerivedMetric", std::move(source)),
        value_(std::move(value)) {
    set_state(metric().make_state());
  }

  std::string name() const override { return value_->name(); }
  std::string repr() const override { return value_->repr(); }
  Dimensions dimensions() const override { return value_->dimensions(); }
  bool is_differentiable() const override {
    return value_->is_differentiable();
  }
  std::optional<bool> higher_is_better() const override {
    return value_->higher_is_better();
  }

  void observe_into(AnyState& fresh, Inputs inputs,
                    const BatchOrigin& origin) const override {
    metric().observe_into(fresh, inputs, origin);
  }
  void evaluate_into(const AnyState& state, const std::string& name,
                     Results& results) const override {
    const auto before = static_cast<std::ptrdiff_t>(results.size());
    value_->evaluate_into(value_->derive(state), name, results);
    if (!dtype_) return;
    ResultParts parts;
    results.visit(parts);
    std::for_each(parts.begin() + before, parts.end(),
                  [&](const ResultParts::Part& part) { finish(*part.value); });
  }

 protected:
  std::string options_text() const override { return "value=" + repr(); }
  StateKey key() const override { return metric().state_key(); }
  std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric> source) const override {
    return std::make_unique<DerivedMetric>(value_->clone(), std::move(source));
  }

 private:
  std::unique_ptr<Metric> value_;
};

}  // namespace

std::shared_ptr<Metric> derived_metric(std::unique_ptr<Metric> value,
                                       std::unique_ptr<Metric> source) {
  TORCH_CHECK_VALUE(value->source_key() == source->state_key(), value->repr(),
                    ": expected a metric from whose state its "
                    "own derives, got ",
                    source->repr());
  return std::make_shared<DerivedMetric>(std::move(value), std::move(source));
}

}  // namespace tally::python
