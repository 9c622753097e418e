#pragma once

#include <absl/status/statusor.h>
#include <c10/util/FunctionRef.h>

#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/metric.h"

namespace tally {

/// Named metrics over the same inputs, accumulated, synced and computed
/// together.
///
/// Metrics whose state is the same by construction (Metric::state_key: the same
/// code with the same relevant options) share one state, which is updated once;
/// a metric whose state can be derived from another's (accuracy from the
/// confusion matrix: Metric::source_key) has none of its own. All states are
/// synced at once: in one collective for the usual collection, in two for a
/// large one. Results are named after the metrics, in the order in which they
/// were added.
///
/// Positional inputs require members that agree on their meaning. Named inputs
/// work with any members, each of which takes the inputs it declares
/// (Metric::inputs).
///
/// A call that throws leaves every member unchanged: all members observe and
/// validate a batch before any of them merges it. For collective calls and
/// thread-safety, see Metric.
///
/// Example:
///     MetricCollection metrics;
///     metrics.add("accuracy", MulticlassAccuracy(10));
///     metrics.add("f1", MulticlassF1Score(10));    // shares accuracy's state
///     metrics.update(preds, target);
///     std::cout << metrics.compute();
///
///     MetricCollection epoch({{"accuracy", MulticlassAccuracy(10)},
///                             {"loss", MeanMetric()}});
///     epoch.update({{"preds", preds}, {"target", target}, {"value", loss}});
class MetricCollection : public MetricBase,
                         public internal::UpdateCalls<MetricCollection>,
                         public internal::ForwardCalls<MetricCollection>,
                         public internal::OptionCalls<MetricCollection> {
 public:
  static constexpr const char* kName = "MetricCollection";

  /// Mismatches found by load_parts().
  struct LoadReport {
    /// Members that the checkpoint does not contain.
    std::vector<std::string> missing;
    /// Names in the checkpoint without a matching member, "a+b" if they shared
    /// a state.
    std::vector<std::string> unexpected;
  };

  /// A named metric in an initializer list.
  class Named {
   public:
    template <class M, std::enable_if_t<
                           std::is_base_of_v<Metric, std::decay_t<M>>, int> = 0>
    Named(std::string name, M&& metric)
        : name_(std::move(name)), metric_(owned(std::forward<M>(metric))) {}
    Named(std::string name, std::unique_ptr<Metric> metric)
        : name_(std::move(name)), metric_(std::move(metric)) {}

   private:
    friend class MetricCollection;
    std::string name_;
    // Elements of an initializer list are const; the collection moves it out.
    mutable std::unique_ptr<Metric> metric_;
  };

  /// The options apply to the collection as a whole. Members keep their own
  /// validate_args, nan_policy and compute_on_cpu.
  explicit MetricCollection(MetricOptions options = MetricOptions());
  /// With these metrics; see add().
  explicit MetricCollection(std::initializer_list<Named> metrics,
                            MetricOptions options = MetricOptions());
  MetricCollection(MetricCollection&&) noexcept = default;
  MetricCollection& operator=(MetricCollection&&) noexcept = default;

  /// Prepended and appended to every name in results. Default: empty.
  MetricCollection& prefix(std::string prefix);
  MetricCollection& postfix(std::string postfix);

  /// Adds a metric, before the first update. Throws c10::ValueError if the name
  /// is empty or in use, if the metric has accumulated data, or if it has
  /// options for syncing: those belong to the collection.
  template <class M, std::enable_if_t<
                         std::is_base_of_v<Metric, std::decay_t<M>>, int> = 0>
  void add(std::string name, M&& metric) {
    add(std::move(name), owned(std::forward<M>(metric)));
  }
  void add(std::string name, std::unique_ptr<Metric> metric);
  /// Adds the metric that make_metric() makes from the text:
  /// add("f1", "MulticlassF1Score(num_classes=10)"). Defined in
  /// metrics/registry, which knows all metrics.
  void add(std::string name, std::string_view text);
  /// Adds the metrics of another collection as "name.member".
  void add(const std::string& name, MetricCollection&& nested);

  /// The values of everything accumulated, over all ranks unless
  /// sync_on_compute is off.
  Results compute();
  /// compute().number(name).
  double number(const std::string& name) { return compute().number(name); }

  /// See MetricOf::sync_async.
  PendingValue<Results> sync_async();

  using ForwardCalls::forward_inputs;
  using UpdateCalls::update_inputs;
  void update_inputs(Inputs inputs);
  void update_inputs(NamedInputs inputs);
  Results forward_inputs(Inputs inputs);
  Results forward_inputs(NamedInputs inputs);

  /// As in Metric.
  void merge_state(const MetricCollection& other);
  void set_metric_options(MetricOptions options);
  void set_dtype(at::ScalarType dtype);
  /// Loads a checkpoint of a collection with other members: each member whose
  /// state it contains (under any name, with the same options) gets that state,
  /// the others become empty.
  absl::StatusOr<LoadReport> deserialize_parts(std::string_view bytes);
  absl::StatusOr<LoadReport> load_parts(const std::string& path);

  MetricCollection clone() const;

  /// The inputs of all members, each name once; see Metric::inputs.
  c10::ArrayRef<InputInfo> inputs() const { return union_.inputs(); }
  /// See Metric::positional_inputs.
  std::size_t positional_inputs() const { return union_.positional(); }
  /// The members' names, without prefix and postfix.
  std::vector<std::string> names() const;
  std::size_t size() const { return members_.size(); }
  bool contains(const std::string& name) const;
  /// The member, with its options and inputs. What it has accumulated is the
  /// collection's: see extract() and number(). Throws c10::IndexError for an
  /// unknown name, listing the known ones.
  const Metric& operator[](const std::string& name) const;
  /// A separate metric with the member's accumulated state. Throws
  /// c10::IndexError for an unknown name, listing the known ones.
  std::unique_ptr<Metric> extract(const std::string& name) const;
  /// The names of the members that share a state, group by group.
  std::vector<std::vector<std::string>> groups() const;
  /// One line per member.
  std::string repr() const;
  std::string spec() const override;

 private:
  template <class M>
  static std::unique_ptr<Metric> owned(M&& metric) {
    static_assert(
        !std::is_lvalue_reference_v<M>,
        "a collection takes ownership of its metrics: std::move it in, or pass "
        "its clone()");
    // Avoids further compiler errors that result from this one.
    if constexpr (std::is_lvalue_reference_v<M>) {
      return nullptr;
    } else {
      return std::make_unique<M>(std::move(metric));
    }
  }

  // "metrics={name: metric, ...}"; of a single one without a name
  // "metric=...".
  std::string members_spec() const;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Member {
    std::string name;
    std::string result;  // its name in results
    std::unique_ptr<Metric> metric;
    StateKey source_key;
    std::size_t group;    // the column of its state
    std::size_t derived;  // which of the states derived from those of groups
    std::size_t kept;     // the column of what survives a reset
  };
  class DerivedStates;

  const Member& member(const std::string& name) const;

  void add_member(std::string name, std::unique_ptr<Metric> metric);
  void arrange(NamedInputs given, const char* owner,
               internal::OrderedInputs& ordered);
  // Inputs by position, as each member takes them, or in the order of inputs().
  std::vector<AnyState> observe_positional(Inputs inputs) const;
  std::vector<AnyState> observe_same(Inputs inputs,
                                     const BatchOrigin& origin) const;
  std::vector<AnyState> observe_named(NamedInputs inputs);
  std::vector<AnyState> observe_union(Inputs inputs,
                                      const BatchOrigin& origin) const;
  template <class InputsOf>
  std::vector<AnyState> observe(const BatchOrigin& origin,
                                const InputsOf& inputs_of) const;
  using StateOf = c10::function_ref<const AnyState&(std::size_t column)>;
  Results evaluate(StateOf state_of) const;
  Results evaluate(const std::vector<AnyState>& states) const;
  // Metric::compute_into of each member.
  Results compute_states(
      StateOf state_of,
      c10::function_ref<AnyState&(std::size_t column)> kept_of) const;
  Results compute_row(internal::StateRows& rows, std::size_t row) const;
  void check_addable(const std::string& name, const Metric& metric) const;
  // In messages: a member without a name is called by its class.
  static std::string label_of(const Member& member);
  void regroup();
  void name_results();

  friend class MetricTracker;
  friend class MultitaskWrapper;
  friend class SliceComparison;
  friend class SlicedMetric;
  friend class SlicedRows;
  std::vector<Member> members_;
  std::vector<std::size_t> observers_;  // by group, a member whose state it is
  std::size_t derived_count_ = 0;
  internal::InputUnion union_;  // of the observers
  internal::InputOrder input_order_;
  std::string prefix_;
  std::string postfix_;
  Results value_;
};

std::ostream& operator<<(std::ostream& out, const MetricCollection& metrics);

}  // namespace tally
