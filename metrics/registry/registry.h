#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/metrics/metric.h"
#include "tally/metrics/options.h"
#include "tally/metrics/registry/spec.h"

namespace tally {

class Registry;

/// What a metric's class does not say of itself.
struct MetricSummary {
  /// One line.
  const char* what;
  /// "[0, 1]", "[0, inf)", "any".
  const char* range;
  /// Options without a default, with a value as an example: "num_classes=5".
  const char* required = "";
};

/// A metric to be made from text, in the hands of its factory.
class MetricRequest {
 public:
  MetricRequest(const Registry& registry, MetricSpec spec,
                const MetricOptions& metric_options, int depth);

  /// For the metric itself.
  const MetricOptions& metric_options() const { return metric_options_; }
  /// The metric that an option describes: "metric=MeanSquaredError()". Takes
  /// the option away. Throws c10::ValueError if it is not there.
  std::unique_ptr<Metric> metric(const std::string& option);
  /// The same for "metrics=[A(), B()]" and "metrics={a: A(), b: B()}"; names
  /// are those given, else the metrics' own.
  std::vector<std::pair<std::string, std::unique_ptr<Metric>>> metrics(
      const std::string& option);
  /// `options` with those that are left in the text set.
  template <class Options>
  Options rest(Options options = internal::unset_options<Options>()) const {
    parse_options(options, spec_.name, spec_.options);
    return options;
  }

 private:
  std::string take(const std::string& option);
  std::unique_ptr<Metric> make(std::string_view text) const;

  const Registry& registry_;
  MetricSpec spec_;
  MetricOptions metric_options_;
  int depth_;
};

using MetricFactory =
    std::function<std::unique_ptr<Metric>(MetricRequest& request)>;

/// All that is known of a metric by name.
struct MetricEntry {
  std::string name;
  MetricSummary summary;
  std::vector<OptionInfo> options;
  /// Empty if it depends on the metrics that this one wraps.
  std::optional<bool> is_differentiable;
  std::optional<bool> higher_is_better;
  bool is_wrapper = false;
  MetricFactory make;
  /// As its accumulator declares them; empty if they depend on options.
  std::vector<InputInfo> inputs = {};
  /// What a wrapper makes of the inputs of the metric inside; null: the same.
  std::function<void(std::vector<InputInfo>& inputs)> change_inputs = {};
  /// What options mean, by name, one line each.
  std::map<std::string, std::string> option_words = {};
  /// "classification"; that of a program's own is "custom" unless it says more.
  std::string domain = "custom";
};

/// Metrics by name. A program's own are added to a copy of builtin_registry():
///
///     Registry registry = builtin_registry();
///     registry.add<MyMetric>({"What it is.", "[0, 1]"});
///     registry.describe_option("MyMetric", "beta", "How much it matters.");
///     auto metric = registry.make("MyMetric(beta=2)");
class Registry {
 public:
  /// Adds a metric with all that its class says: name, options, whether it is
  /// differentiable, and whether higher is better.
  template <class M>
  void add(const MetricSummary& summary) {
    add(entry<M>(summary, [](MetricRequest& request) {
      auto options = request.rest<typename M::Options>();
      return std::make_unique<M>(std::move(options), request.metric_options());
    }));
  }
  /// Adds one around another (see MetricWrapper), M(metric, options), where the
  /// option `metric` describes that metric.
  template <class M>
  void add_wrapper(const MetricSummary& summary) {
    add_wrapper(
        M::kName, summary,
        describe_options(internal::unset_options<typename M::Options>()),
        [](MetricRequest& request) {
          auto metric = request.metric("metric");
          auto wrapper = std::make_unique<M>(
              std::move(metric), request.rest<typename M::Options>());
          wrapper->set_metric_options(request.metric_options());
          return wrapper;
        },
        &M::change_inputs);
  }
  /// Throws c10::ValueError if the name is taken.
  void add(MetricEntry entry);
  /// Says in one line what an option means, for `tally describe`. Throws
  /// c10::ValueError for a metric or option that is not there.
  void describe_option(const std::string& metric, const std::string& option,
                       std::string words);

  /// In alphabetical order.
  const std::map<std::string, MetricEntry>& entries() const { return entries_; }
  /// Throws c10::ValueError for an unknown name, with the nearest one.
  const MetricEntry& at(const std::string& name) const;

  /// The metric that `text` describes (see MetricSpec). Throws c10::ValueError
  /// that says what is wrong with it; unknown names and options get the nearest
  /// there is.
  std::unique_ptr<Metric> make(
      std::string_view text,
      const MetricOptions& metric_options = MetricOptions()) const;
  /// For programs that are told metrics by others: throws c10::ValueError if a
  /// size (OptionRole::kSize) in such a text, as num_classes, is above `most`,
  /// which is what the data justify.
  void check_sizes(std::string_view text, std::int64_t most) const;
  /// The inputs that update() of that metric takes. A wrapper takes those of
  /// the metric inside; one of several, in "{a: A(), b: B()}", maps of them.
  std::vector<InputInfo> inputs(std::string_view text) const;

 private:
  friend class MetricRequest;

  template <class M>
  static MetricEntry entry(const MetricSummary& summary, MetricFactory make) {
    return {M::kName,
            summary,
            describe_options(internal::unset_options<typename M::Options>()),
            M::kIsDifferentiable,
            M::kHigherIsBetter,
            false,
            std::move(make),
            M::declared_inputs().vec()};
  }
  void add_wrapper(const char* name, const MetricSummary& summary,
                   std::vector<OptionInfo> options, MetricFactory make,
                   std::function<void(std::vector<InputInfo>&)> change_inputs);
  std::unique_ptr<Metric> make(std::string_view text,
                               const MetricOptions& metric_options,
                               int depth) const;
  std::vector<InputInfo> inputs(std::string_view text, int depth) const;
  void check_sizes(std::string_view text, std::int64_t most, int depth) const;

  std::map<std::string, MetricEntry> entries_;
};

/// Every metric of this library. Thread-safe.
const Registry& builtin_registry();

/// builtin_registry().make(...).
///
/// Example:
///     auto metric = make_metric("MulticlassAccuracy(num_classes=10)");
///     metric->update(preds, target);
///     std::cout << metric->repr() << metric->compute_results();
std::unique_ptr<Metric> make_metric(
    std::string_view text,
    const MetricOptions& metric_options = MetricOptions());

}  // namespace tally
