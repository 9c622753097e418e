#pragma once

#include <string>
#include <vector>

#include "tally/metrics/options.h"
#include "tally/metrics/wrappers/wrapper_metric.h"

namespace tally {

/// Options of ClasswiseWrapper.
struct ClasswiseWrapperOptions {
  ClasswiseWrapperOptions(std::vector<std::string> labels = {})
      : labels_(std::move(labels)) {}
  /// The names of the classes, distinct and without any of , " [ ]. Default:
  /// their indices.
  TORCH_ARG(std::vector<std::string>, labels);
  /// Prepended and appended to each name. Default: empty; if both are empty,
  /// the lower-case name of the metric and "_" are prepended.
  TORCH_ARG(std::string, prefix);
  TORCH_ARG(std::string, postfix);

 public:
  void visit(OptionVisitor& v);
  void validate(const char* metric) const;
};

/// Returns the value of each class under a separate name.
///
/// update(): as for the metric.
/// Result: for the metric's value [C, ...], one tensor [...] per class:
/// "multiclassaccuracy_0" or "multiclassaccuracy_horse".
/// State: that of the metric, shared with that metric in a collection.
/// NaN and empty inputs are handled by the metric.
/// Errors: c10::ValueError from compute() and forward() if the metric's value
/// is not a single tensor with one row per label.
/// Differentiable if the metric is.
///
/// Example:
///     ClasswiseWrapper accuracy(
///         MulticlassAccuracy(
///             MulticlassAccuracyOptions(3).average(Average::kNone)),
///         std::vector<std::string>{"horse", "fish", "dog"});
///     accuracy.update(preds, target);
///     at::Tensor fish = accuracy.compute()["multiclassaccuracy_fish"];
class ClasswiseWrapper final : public MetricWrapper {
 public:
  using Options = ClasswiseWrapperOptions;
  static constexpr const char* kName = "ClasswiseWrapper";
  static constexpr MetricSummary kSummary{
      "Names the value of each class of a metric.", "any",
      "metric=MulticlassAccuracy(num_classes=3, average=none)",
      "names of classes"};

  explicit ClasswiseWrapper(OwnedMetric metric, Options options = {});

  const Options& options() const { return options_; }

  std::string name() const override { return kName; }
  StateKey source_key() const override { return metric().source_key(); }
  AnyState derive(const AnyState& source) const override {
    return metric().derive(source);
  }
  void observe_into(AnyState& fresh, Inputs inputs,
                    const BatchOrigin& origin) const override;
  void evaluate_into(const AnyState& state, const std::string& name,
                     Results& results) const override;

 protected:
  std::string options_text() const override { return options_repr(options_); }
  StateKey key() const override { return metric().state_key(); }
  std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric> metric) const override {
    return std::make_unique<ClasswiseWrapper>(std::move(metric), options_);
  }

 private:
  Options options_;
};

}  // namespace tally
