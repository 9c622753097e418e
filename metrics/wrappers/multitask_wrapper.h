#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/metrics/wrappers/wrapper_metric.h"

namespace tally {

/// One input for each task.
using TaskInputs = std::map<std::string, at::Tensor>;
/// The same with inputs of any type, such as texts.
using TaskValues = std::map<std::string, InputValue>;

/// Options of MultitaskWrapper.
struct MultitaskWrapperOptions {
  /// Prepended and appended to each task's name. Default: empty.
  TORCH_ARG(std::string, prefix);
  TORCH_ARG(std::string, postfix);

 public:
  void visit(OptionVisitor& v) {
    v("prefix", prefix_, OptionRole::kValue, internal::words::kPrefix);
    v("postfix", postfix_, OptionRole::kValue, internal::words::kPostfix);
  }
};

/// A metric or collection for each task of a multi-task model, each with its
/// own inputs.
///
/// update(preds, target): maps from task name to tensor, with one entry per
/// task; a third map for an additional input (weights). With named inputs, each
/// map contains the tasks that take it; they need not have a target:
///     tasks.update({{"preds", preds}, {"target", target}, {"value", losses}});
/// For texts and other inputs that are no tensors, the maps are TaskValues:
///     const TaskValues preds = {{"age", InputValue::of(x)},
///                               {"speech", InputValue::of(texts)}};
/// Result: the tasks' results as "task", "task.part", "task.member".
/// State: the combined states of the tasks; within a task, metrics with the
/// same state share it. They sync together. NaN and empty inputs are handled by
/// the metrics, which keep their own validate_args, nan_policy, compute_on_cpu.
/// Errors: c10::ValueError for missing or unknown tasks, and the errors of
/// add() (see MetricCollection::add); c10::TypeError for other inputs.
/// Differentiable if all metrics are.
///
/// Example:
///     MultitaskWrapper tasks;
///     tasks.add("age", MeanSquaredError());
///     tasks.add("animal", MulticlassAccuracy(10));
///     tasks.update({{"age", x}, {"animal", preds}},
///                  {{"age", y}, {"animal", target}});
///     at::Tensor accuracy = tasks.compute()["animal"];
class MultitaskWrapper final : public WrapperMetric {
 public:
  using Options = MultitaskWrapperOptions;
  static constexpr const char* kName = "MultitaskWrapper";
  static constexpr MetricSummary kSummary{
      "A metric for each of several tasks, from maps of inputs.", "any",
      "tasks={a: MeanSquaredError()}", "multi-task, multitask"};

  explicit MultitaskWrapper(Options options = {},
                            MetricOptions metric_options = MetricOptions());

  /// To be called before the first update.
  void add(const std::string& task, OwnedMetric metric);
  void add(const std::string& task, MetricCollection&& metrics);

  const Options& options() const { return options_; }
  std::vector<std::string> tasks() const;

  using WrapperMetric::forward;
  using WrapperMetric::update;
  void update(const TaskInputs& preds, const TaskInputs& target) {
    update_inputs({InputRef::of(preds), InputRef::of(target)});
  }
  Results forward(const TaskInputs& preds, const TaskInputs& target) {
    return forward_inputs({InputRef::of(preds), InputRef::of(target)});
  }

  std::unique_ptr<Metric> clone() const override;
  std::string name() const override { return kName; }
  /// "MultitaskWrapper(tasks={age: MeanSquaredError(...)}, ...)".
  std::string repr() const override { return text_by(&Metric::repr); }
  std::string spec() const override {
    return with_common_options(text_by(&Metric::spec));
  }
  c10::ArrayRef<InputInfo> inputs() const override { return inputs_; }
  std::size_t positional_inputs() const override;
  bool is_differentiable() const override;
  std::optional<bool> higher_is_better() const override { return std::nullopt; }
  void set_metric_options(MetricOptions options) override;
  void observe_into(AnyState& fresh, Inputs inputs,
                    const BatchOrigin& origin) const override;
  AnyState make_kept() const override;
  void compute_into(const AnyState& state, AnyState& kept,
                    const std::string& name, Results& results) const override;

 private:
  struct Task {
    std::string name;
    MetricCollection metrics;  // with the names of the results
  };

  std::string text_by(std::string (Metric::*of_metric)() const) const;

  // The name of a task's results; throws if it already exists.
  std::string new_name(const std::string& task) const;
  /// `visit(name, column)` for the tasks' columns that survive a reset, or do
  /// not.
  template <class Visit>
  void for_each_column(bool kept, const Visit& visit) const;
  AnyState parts_of(bool kept) const;
  void remake_state();
  bool keeps_on_cpu() const;
  using TaskRefs = std::map<std::string, InputRef>;
  void check_tasks(const TaskRefs& input, std::size_t index) const;
  // Whether the task takes that input.
  bool takes(std::size_t task, std::size_t index) const;

  Options options_;
  std::vector<Task> tasks_;
  internal::InputUnion union_;
  std::vector<InputInfo> inputs_;
};

}  // namespace tally
