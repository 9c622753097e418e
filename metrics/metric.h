#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "tally/metrics/input_order.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_base.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/results.h"
#include "tally/metrics/sync_together.h"

namespace tally {

/// Where a batch comes from, for metrics to which that makes a difference: one
/// that draws random numbers, or keeps the last few batches.
class BatchOrigin {
 public:
  /// The first batch of rank 0.
  BatchOrigin() = default;
  /// The next one of this rank.
  explicit BatchOrigin(const internal::Accumulation& accumulation)
      : accumulation_(&accumulation) {}

  int rank() const;
  /// How many batches the rank has accumulated before it.
  std::int64_t index() const;

 private:
  const internal::Accumulation* accumulation_ = nullptr;
};

/// A metric: accumulates what it needs to know of the batches it sees, and
/// computes a value from that, for this process or for all ranks together.
///
/// This is the face that does not know a metric's types, for code that handles
/// any metric; MulticlassAccuracy and the others give the same calls with
/// their own types (see MetricOf). Whatever throws leaves the metric as it was.
///
/// With several ranks (see sync::init_from_env) compute(), sync(), and
/// forward() with dist_sync_on_step are collective: every rank calls the same
/// one of them, ranks without data too. A rank that evaluates alone has a
/// metric with sync_on_compute(false), or calls them in a
/// sync::CommunicatorGuard of sync::single_process_communicator().
///
/// Thread-safety: const functions from any thread; others from one at a time,
/// which is checked.
class Metric : public MetricBase {
 public:
  virtual ~Metric() = default;

  using MetricBase::update;

  /// Accumulates one batch. Throws c10::ValueError, c10::TypeError or
  /// c10::IndexError for inputs that the metric's header does not allow.
  template <class... Args>
  void update(const Args&... args) {
    update_inputs({InputRef::of(internal::as_input(args))...});
  }
  /// The same by the inputs' names, in any order: for inputs() of this metric.
  /// Throws c10::ValueError for one that is none of them, missing, or given
  /// twice.
  ///
  ///     metric.update({{"preds", preds}, {"target", target}});
  void update(std::initializer_list<NamedInput> inputs) {
    update_inputs(NamedInputs(inputs));
  }
  /// Accumulates one batch and returns its value: of this rank's batch, or with
  /// dist_sync_on_step of all ranks' batches together. Differentiable metrics
  /// return it with a graph.
  template <class... Args>
  Results forward_results(const Args&... args) {
    return forward_inputs({InputRef::of(internal::as_input(args))...});
  }
  Results forward_results(std::initializer_list<NamedInput> inputs) {
    return forward_inputs(NamedInputs(inputs));
  }
  /// forward_results().
  template <class... Args>
  Results operator()(const Args&... args) {
    return forward_results(args...);
  }
  Results operator()(std::initializer_list<NamedInput> inputs) {
    return forward_results(inputs);
  }
  /// The value of everything accumulated, over all ranks unless
  /// sync_on_compute is off; each result a tensor of its own.
  virtual Results compute_results() = 0;
  /// The same; classes that know their result's type return that.
  Results compute() { return compute_results(); }

  /// The same for a list of inputs.
  void update_inputs(Inputs inputs);
  void update_inputs(NamedInputs inputs);
  Results forward_inputs(Inputs inputs);
  Results forward_inputs(NamedInputs inputs);
  void update_inputs(std::initializer_list<InputRef> inputs) {
    update_inputs(Inputs(inputs));
  }
  Results forward_inputs(std::initializer_list<InputRef> inputs) {
    return forward_inputs(Inputs(inputs));
  }

  /// Adds what `other`, the same metric with the same options, accumulated.
  void merge_state(const Metric& other);

  /// The dtype of floating-point results. Default: float64 for what is
  /// accumulated as such. States keep their precision.
  void set_dtype(at::ScalarType dtype);

  /// A metric of its own with the same options and state.
  virtual std::unique_ptr<Metric> clone() const = 0;

  /// For example "MulticlassAccuracy".
  virtual std::string name() const = 0;
  /// For example "MulticlassAccuracy(num_classes=10, average=macro)".
  virtual std::string repr() const = 0;
  /// What update() takes, in its order; empty if the metric does not say.
  virtual c10::ArrayRef<InputInfo> inputs() const { return {}; }
  /// How many of inputs() may be given by position. Fewer than there are where
  /// metrics inside this one read the others differently.
  virtual std::size_t positional_inputs() const { return internal::kAnyNumber; }
  virtual bool is_differentiable() const = 0;
  /// Empty where neither is.
  virtual std::optional<bool> higher_is_better() const = 0;
  /// Metrics with equal keys accumulate the same state from the same inputs.
  const StateKey& state_key() const { return accumulation_.group().key; }
  /// The key of a state from which derive() makes this metric's, so that who
  /// accumulates that one need not accumulate this one; empty if there is none.
  virtual StateKey source_key() const { return {}; }
  /// How to sync can be changed at any time but while synced; what shapes the
  /// state (validate_args, nan_policy, compute_on_cpu) before the first update.
  /// Throws c10::Error otherwise.
  virtual void set_metric_options(MetricOptions options) = 0;

  // The pure functions that everything above is made of.

  /// The identity: the state of no data.
  AnyState make_state() const { return accumulation_.group().identity; }
  /// A fresh state for observe_into of the next batch: the identity, perhaps
  /// without the parts that a batch leaves alone (see StateParts).
  virtual AnyState make_batch() const { return make_state(); }
  /// This metric's state of the data that `source` is the state of.
  /// REQUIRES: the state of a metric whose state_key() is source_key().
  virtual AnyState derive(const AnyState& source) const;
  /// The state of one batch, into a fresh state. With a graph where inputs
  /// have one and gradients are enabled.
  virtual void observe_into(AnyState& fresh, Inputs inputs,
                            const BatchOrigin& origin) const = 0;
  /// The value of a state, added to `results` under `name` or `name.part`.
  virtual void evaluate_into(const AnyState& state, const std::string& name,
                             Results& results) const = 0;
  /// The same for compute(): may note the value in the part of the state that
  /// outlasts a reset.
  virtual void compute_into(AnyState& state, const std::string& name,
                            Results& results) const {
    evaluate_into(state, name, results);
  }

 protected:
  using MetricBase::MetricBase;
  Metric(Metric&&) noexcept = default;
  Metric& operator=(Metric&&) noexcept = default;

  /// Throws unless so many inputs may be given by position.
  void check_positional(std::size_t count) const {
    if (count > positional_inputs()) {
      internal::check_positional(name(), inputs(), positional_inputs(), count);
    }
  }
  /// The state of the next batch.
  AnyState observe_next(Inputs inputs) const;
  AnyState observe_next(NamedInputs inputs);
  Results results_of_batch(const AnyState& batch) const;

  /// Makes a result's tensor fit to be handed out: of the dtype asked for,
  /// shared with nobody.
  void finish(at::Tensor& value) const;

  friend class MetricCollection;
  std::optional<at::ScalarType> dtype_;
  internal::InputOrder input_order_;
};

/// Syncs a metric or collection for as long as it lives, exceptions included:
///
///     {
///       SyncScope scope(metric);
///       report(metric.compute(), metric.state());
///     }
///
/// Several at once, by sync_together: SyncScope scope(training, validation);
template <class... Syncable>
class SyncScope {
 public:
  explicit SyncScope(Syncable&... syncable) : syncable_(syncable...) {
    if constexpr (sizeof...(Syncable) == 1) {
      (syncable.sync(), ...);
    } else {
      sync_together(syncable...);
    }
  }
  ~SyncScope() {
    std::apply([](auto&... each) { (end(each), ...); }, syncable_);
  }
  SyncScope(const SyncScope&) = delete;
  SyncScope& operator=(const SyncScope&) = delete;

 private:
  template <class Each>
  static void end(Each& syncable) {
    if (syncable.is_synced()) syncable.unsync();
  }

  std::tuple<Syncable&...> syncable_;
};

}  // namespace tally
