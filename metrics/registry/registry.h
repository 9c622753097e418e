#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/metric.h"
#include "tally/metrics/metric_spec.h"
#include "tally/metrics/options.h"

namespace tally {
namespace internal {

/// Whether `std::cout << metric.compute()` compiles.
template <class Result>
using PrintOf =
    decltype(std::declval<std::ostream&>() << std::declval<Result>());
template <class Result>
inline constexpr bool kIsPrinted =
    std::is_same_v<Result, at::Tensor> || kHas<PrintOf, Result>;

}  // namespace internal

class Registry;

/// A request to make a metric from text, passed to its factory.
class MetricRequest {
 public:
  MetricRequest(const Registry& registry, MetricSpec spec,
                const MetricOptions& metric_options, int depth);

  /// For the metric itself.
  const MetricOptions& metric_options() const { return metric_options_; }
  /// Makes the metric described by an option: "metric=MeanSquaredError()".
  /// Consumes the option. Throws c10::ValueError if it is missing.
  std::unique_ptr<Metric> metric(const std::string& option);
  using Named = std::vector<std::pair<std::string, std::unique_ptr<Metric>>>;
  /// The same for "metrics=[A(), B()]" and "metrics={a: A(), b: B()}"; names
  /// default to those of the metrics.
  Named metrics(const std::string& option);
  /// The same where each may be several, "tasks={a: A(), b: {c: C(), d: D()}}";
  /// one alone has no name.
  std::vector<std::pair<std::string, Named>> metrics_by_task(
      const std::string& option);
  /// `options`, with the remaining options of the text set.
  template <class Options>
  Options rest(Options options = internal::unset_options<Options>()) const {
    parse_options(options, spec_.name, spec_.options);
    return options;
  }

 private:
  std::string take(const std::string& option);
  std::unique_ptr<Metric> make(std::string_view text) const;
  Named make_items(std::string_view text) const;

  const Registry& registry_;
  MetricSpec spec_;
  MetricOptions metric_options_;
  int depth_;
};

using MetricFactory =
    std::function<std::unique_ptr<Metric>(MetricRequest& request)>;

/// The description of a metric.
struct MetricEntry {
  /// With values of the options that have no default:
  /// "MulticlassAccuracy(num_classes=5)".
  std::string example() const { return name + "(" + summary.required + ")"; }

  std::string name;
  MetricSummary summary;
  std::vector<OptionInfo> options;
  /// Empty if it depends on the metrics that this one wraps.
  std::optional<bool> is_differentiable;
  std::optional<bool> higher_is_better;
  bool is_wrapper = false;
  MetricFactory make;
  /// Declared by its observer; empty if they depend on options.
  std::vector<InputInfo> inputs = {};
  /// How a wrapper transforms the inputs of its metric; null: identity.
  std::function<void(std::vector<InputInfo>& inputs)> change_inputs = {};
  /// For example "classification"; "custom" by default for a program's own
  /// metrics.
  std::string domain = "custom";
};

/// Metrics by name. Add custom metrics to a copy of builtin_registry():
///
///     Registry registry = builtin_registry();
///     registry.add<MyMetric>({"What it is.", "[0, 1]"});
///     registry.describe_option("MyMetric", "beta", "How much it matters.");
///     auto metric = registry.make("MyMetric(beta=2)");
class Registry {
 public:
  /// Adds metrics, each with what its class says: kName, kSummary, options,
  /// inputs, whether it is differentiable, and whether higher is better.
  template <class... Ms>
  void add() {
    (add<Ms>(Ms::kSummary), ...);
  }
  /// The same for a class that has no kSummary.
  template <class M>
  void add(const MetricSummary& summary) {
    using Result = decltype(std::declval<M&>().compute());
    static_assert(internal::kIsPrinted<Result>,
                  "the result of a metric is a tensor, Results, or a struct "
                  "with visit(ResultParts&), which `<<` prints");
    add_declared({M::kName, summary, described<typename M::Options>(),
                  M::kIsDifferentiable, M::kHigherIsBetter, make_of<M>,
                  M::declared_inputs()});
  }
  /// Adds wrappers (see MetricWrapper), M(metric, options), whose option
  /// `metric` describes the wrapped metric.
  template <class... Ms>
  void add_wrapper() {
    (add_wrapper<Ms>(Ms::kSummary), ...);
  }
  template <class M>
  void add_wrapper(const MetricSummary& summary) {
    add_declared_wrapper({M::kName, summary, described<typename M::Options>(),
                          std::nullopt, std::nullopt, make_wrapper_of<M>},
                         &M::change_inputs);
  }
  /// Throws c10::ValueError if the name is already in use.
  void add(MetricEntry entry);
  /// Sets what `tally describe` says of an option, for a metric whose visit()
  /// does not. Throws c10::ValueError for an unknown metric or option.
  void describe_option(const std::string& metric, const std::string& option,
                       std::string words);

  /// In alphabetical order.
  const std::map<std::string, MetricEntry>& entries() const { return entries_; }
  /// Throws c10::ValueError for an unknown name, suggesting the closest one.
  const MetricEntry& at(const std::string& name) const;

  /// Makes the metric described by `text` (see MetricSpec). Any metric takes
  /// validate_args, nan_policy, compute_on_cpu and dtype in its text, too, and
  /// "CompositionalMetric(expression=2 * A() / (B() + 1))" is arithmetic on
  /// metrics. Throws c10::ValueError that describes the error; for unknown
  /// names and options it suggests the closest one.
  std::unique_ptr<Metric> make(
      std::string_view text,
      const MetricOptions& metric_options = MetricOptions()) const;
  /// For programs with untrusted metric texts: throws c10::ValueError if a size
  /// (OptionRole::kSize) in the text, such as num_classes, is above `most`, the
  /// limit justified by the data.
  void check_sizes(std::string_view text, std::int64_t most) const;
  /// The inputs of that metric's update(). A wrapper takes those of its metric;
  /// a wrapper of several metrics, "{a: A(), b: B()}", takes maps of them.
  std::vector<InputInfo> inputs(std::string_view text) const;

 private:
  friend class MetricRequest;

  // What a class says: the rest is compiled once for all of them.
  struct Declared {
    const char* name;
    const MetricSummary& summary;
    std::vector<OptionInfo> options;
    std::optional<bool> is_differentiable;
    std::optional<bool> higher_is_better;
    std::unique_ptr<Metric> (*make)(MetricRequest& request);
    c10::ArrayRef<InputInfo> inputs = {};
  };

  template <class Options>
  static std::vector<OptionInfo> described() {
    return describe_options(internal::unset_options<Options>());
  }
  template <class M>
  static std::unique_ptr<Metric> make_of(MetricRequest& request) {
    return std::make_unique<M>(request.rest<typename M::Options>(),
                               request.metric_options());
  }
  template <class M>
  static std::unique_ptr<Metric> make_wrapper_of(MetricRequest& request) {
    auto metric = request.metric("metric");
    auto wrapper = std::make_unique<M>(std::move(metric),
                                       request.rest<typename M::Options>());
    wrapper->set_metric_options(request.metric_options());
    return wrapper;
  }
  void add_declared(Declared declared);
  void add_declared_wrapper(
      Declared declared, void (*change_inputs)(std::vector<InputInfo>& inputs));
  std::unique_ptr<Metric> make(std::string_view text,
                               const MetricOptions& metric_options,
                               int depth) const;
  std::unique_ptr<Metric> make_entry(const MetricEntry& entry, MetricSpec spec,
                                     const MetricOptions& metric_options,
                                     int depth) const;
  std::vector<InputInfo> inputs(std::string_view text, int depth) const;
  void check_sizes(std::string_view text, std::int64_t most, int depth) const;

  std::map<std::string, MetricEntry> entries_;
};

/// All metrics of this library. Thread-safe.
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
