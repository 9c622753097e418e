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
  /// The classes' names, all different and without any of , " [ ]. Default:
  /// their numbers.
  TORCH_ARG(std::vector<std::string>, labels);
  /// Put before and behind each. Default: empty; without both, the metric's
  /// name in lower case and "_" stand before.
  TORCH_ARG(std::string, prefix);
  TORCH_ARG(std::string, postfix);

 public:
  void visit(OptionVisitor& v);
  void validate(const char* metric) const;
};

/// Gives the value of each class a name.
///
/// update(): as the metric's.
/// Result: of the metric's value [C, ...] one tensor [...] for each class:
/// "multiclassaccuracy_0" or "multiclassaccuracy_horse".
/// State: the metric's, which it shares with that metric in a collection.
/// NaN and empty behaviour are those of the metric.
/// Errors: c10::ValueError from compute() and forward() if the metric's value
/// is not one tensor with a row for each label.
/// Differentiable where the metric is.
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
