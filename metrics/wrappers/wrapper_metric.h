#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/metric.h"
#include "tally/metrics/owned_metric.h"
#include "tally/metrics/warnings.h"

namespace tally {

/// The typed interface of composite metrics: named results; a single tensor has
/// an empty name.
class WrapperMetric : public Metric {
 public:
  /// See Metric::compute_results.
  Results compute();
  /// See MetricOf::sync_async.
  PendingValue<Results> sync_async();
  Results compute_results() final { return compute(); }
  void evaluate_into(const AnyState& state, const std::string& name,
                     Results& results) const override;

 protected:
  using Metric::Metric;
  WrapperMetric(WrapperMetric&&) noexcept = default;
  WrapperMetric& operator=(WrapperMetric&&) noexcept = default;

  /// Adds results of inner metrics, prepared for the caller.
  void add_results(Results inner, const std::string& name,
                   Results& results) const;

  /// "name.part", or the non-empty one of both.
  static std::string joined(const std::string& name, const std::string& part);

 private:
  Results compute_rows(internal::StateRows& rows) const;

  Results value_;
};

/// A wrapper around one metric. It adopts the metric's MetricOptions: setting
/// them on the inner metric or on the wrapper has the same effect.
class MetricWrapper : public WrapperMetric {
 public:
  const Metric& metric() const { return *metric_; }

  std::unique_ptr<Metric> clone() const final;
  /// "MinMaxMetric(metric=MeanSquaredError(...), ...)".
  std::string repr() const override { return text_of(metric_->repr()); }
  std::string spec() const override {
    return with_common_options(text_of(metric_->spec()));
  }
  /// Transforms the metric's inputs to those of the wrapper. Default: identity.
  static void change_inputs(std::vector<InputInfo>& inputs) { (void)inputs; }
  c10::ArrayRef<InputInfo> inputs() const override { return metric_->inputs(); }
  std::size_t positional_inputs() const override {
    return metric_->positional_inputs();
  }
  bool is_differentiable() const override {
    return metric_->is_differentiable();
  }
  std::optional<bool> higher_is_better() const override {
    return metric_->higher_is_better();
  }
  AnyState make_kept() const override { return metric_->make_kept(); }
  void set_metric_options(MetricOptions options) final;

 protected:
  MetricWrapper(const char* name, OwnedMetric metric);
  MetricWrapper(MetricWrapper&&) noexcept = default;
  MetricWrapper& operator=(MetricWrapper&&) noexcept = default;

  /// To be called once by the constructor of the final class. `parts`: how the
  /// rows of the state's parts belong together. `label`: name(), where a class
  /// derived from the final one has another.
  void set_state(AnyState identity,
                 internal::RowParts parts = internal::RowParts::kSame,
                 std::string label = "");

  /// The metric's results, without a prefix.
  Results results_of(const AnyState& state) const;

  /// The wrapper's own options, as in repr(); empty if there are none.
  virtual std::string options_text() const = 0;
  /// See Metric::state_key.
  virtual StateKey key() const = 0;
  /// A wrapper of the same kind around `metric`.
  virtual std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric> metric) const = 0;

 private:
  explicit MetricWrapper(std::unique_ptr<Metric> metric);
  std::string text_of(const std::string& metric) const;

  std::unique_ptr<Metric> metric_;
};

}  // namespace tally
