#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/metrics/core/input_calls.h"
#include "tally/metrics/core/input_order.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_base.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/metric_summary.h"
#include "tally/metrics/results.h"
#include "tally/metrics/sync_together.h"

namespace tally {

struct MetricSampling;

/// The origin of a batch, for metrics that depend on it: those that draw random
/// numbers, or keep the last few batches.
class BatchOrigin {
 public:
  /// The first batch of rank 0.
  BatchOrigin() = default;
  /// The next batch of this rank.
  explicit BatchOrigin(const internal::Accumulation& accumulation)
      : accumulation_(&accumulation) {}

  int rank() const;
  /// The number of batches accumulated by the rank before it.
  std::int64_t index() const;

 private:
  const internal::Accumulation* accumulation_ = nullptr;
};

/// A metric: accumulates a state from batches, and computes a value from it,
/// for this process or for all ranks together.
///
/// This is the type-erased interface, for code that handles any metric;
/// MulticlassAccuracy and the others offer the same calls with their own types
/// (see MetricOf). A call that throws leaves the metric unchanged.
///
/// With several ranks (see sync::init_from_env) compute(), sync(), and
/// forward() with dist_sync_on_step are collective: every rank must make the
/// same call, including ranks without data. A rank that evaluates alone uses
/// sync_on_compute(false), or a sync::CommunicatorGuard with
/// sync::single_process_communicator().
///
/// Thread-safety: const functions may be called from any number of threads;
/// others from one thread, while no other one uses the object. That is checked:
/// a second thread gets a c10::Error.
class Metric : public MetricBase,
               public internal::UpdateCalls<Metric>,
               public internal::ForwardCalls<Metric>,
               public internal::OptionCalls<Metric> {
 public:
  virtual ~Metric() = default;

  /// forward(), also where derived classes return their own result type.
  template <class... Args>
  Results forward_results(const Args&... args) {
    return Metric::forward(args...);
  }
  Results forward_results(std::initializer_list<NamedInput> inputs) {
    return Metric::forward(inputs);
  }
  /// The value of everything accumulated, over all ranks unless sync_on_compute
  /// is off; results do not share memory.
  virtual Results compute_results() = 0;
  /// The same; derived classes return their own result type.
  Results compute() { return compute_results(); }
  /// compute() as a number: the result's only one, or of several the one
  /// without a name of its own. Throws c10::ValueError if there is none.
  ///
  ///     double accuracy = metric.number();
  double number() { return compute_results().number(); }

  using ForwardCalls::forward_inputs;
  using UpdateCalls::update_inputs;
  /// The same for a list of inputs.
  void update_inputs(Inputs inputs);
  void update_inputs(NamedInputs inputs);
  Results forward_inputs(Inputs inputs);
  Results forward_inputs(NamedInputs inputs);

  /// Adds what `other`, the same metric with the same options, accumulated.
  void merge_state(const Metric& other);

  /// The dtype of floating-point results. Default: float64 for values
  /// accumulated in float64. States keep their precision.
  void set_dtype(at::ScalarType dtype);

  /// A separate metric with the same options and state.
  virtual std::unique_ptr<Metric> clone() const = 0;

  /// For example "MulticlassAccuracy".
  virtual std::string name() const = 0;
  /// For example "MulticlassAccuracy(num_classes=10, average=macro)".
  virtual std::string repr() const = 0;
  std::string spec() const override;
  /// The inputs of update(), in its order; empty if the metric does not declare
  /// them.
  virtual c10::ArrayRef<InputInfo> inputs() const { return {}; }
  /// How many of inputs() may be positional. Less than their number if metrics
  /// inside this one interpret the others differently.
  virtual std::size_t positional_inputs() const { return internal::kAnyNumber; }
  virtual bool is_differentiable() const = 0;
  /// What the dimensions of the result are; see Results::add.
  virtual Dimensions dimensions() const { return {}; }
  /// Empty if neither direction is better.
  virtual std::optional<bool> higher_is_better() const = 0;
  /// What is known of the rows behind the value, for intervals and comparisons;
  /// see metrics/sampling.h.
  virtual MetricSampling sampling() const;
  /// Sentences on options that have no effect because of others.
  const std::vector<std::string>& remarks() const {
    return accumulation_.column().remarks;
  }
  /// Whether the state is on the CPU, wherever inputs are: with
  /// compute_on_cpu, and that of objects, segments and tokens.
  bool keeps_on_cpu() const { return accumulation_.column().on_cpu; }
  /// Metrics with equal keys accumulate the same state from the same inputs.
  const StateKey& state_key() const { return accumulation_.column().key; }
  /// The key of a state from which derive() computes this metric's state, which
  /// then need not be accumulated separately; empty if there is none.
  virtual StateKey source_key() const { return {}; }
  /// Options for syncing can be changed at any time except while synced;
  /// options that affect the state (validate_args, nan_policy, compute_on_cpu)
  /// only before the first update. Throws c10::Error otherwise.
  virtual void set_metric_options(MetricOptions options) = 0;

  // The pure functions from which everything above is composed.

  /// The identity: the state without data.
  AnyState make_state() const { return accumulation_.column().identity; }
  /// A fresh state for observe_into of the next batch: the identity, possibly
  /// without the parts that a batch does not affect (see StateParts).
  virtual AnyState make_batch() const { return make_state(); }
  /// Derives this metric's state from `source`, the state of another metric for
  /// the same data. REQUIRES: the state of a metric whose state_key() is
  /// source_key().
  virtual AnyState derive(const AnyState& source) const;
  /// Computes the state of one batch in a fresh state, with a graph if inputs
  /// have one and gradients are enabled.
  virtual void observe_into(AnyState& fresh, Inputs inputs,
                            const BatchOrigin& origin) const = 0;
  /// Adds the value of a state to `results` under `name` or `name.part`.
  virtual void evaluate_into(const AnyState& state, const std::string& name,
                             Results& results) const = 0;
  /// A second state, which survives a reset, for what computed values leave
  /// behind; undefined if nothing does.
  virtual AnyState make_kept() const { return {}; }
  /// evaluate_into() for compute(), which adds the value to `kept`.
  virtual void compute_into(const AnyState& state, AnyState& kept,
                            const std::string& name, Results& results) const {
    (void)kept;
    evaluate_into(state, name, results);
  }

 protected:
  using MetricBase::MetricBase;
  Metric(Metric&&) noexcept = default;
  Metric& operator=(Metric&&) noexcept = default;

  /// Throws unless `count` inputs may be positional.
  void check_positional(std::size_t count) const {
    if (count > positional_inputs()) {
      internal::check_positional(name(), inputs(), positional_inputs(), count);
    }
  }
  /// The state of the next batch.
  AnyState observe_next(Inputs inputs) const;
  AnyState observe_next(NamedInputs inputs);
  Results results_of_batch(const AnyState& batch) const;

  /// Prepares a result's tensor for the caller: with the requested dtype, and
  /// not shared.
  void finish(at::Tensor& value) const;
  /// For spec() where repr() does not list options: `text`, "Name(...)", with
  /// the options that every metric has.
  std::string with_common_options(std::string text) const;

  friend class MetricCollection;
  std::optional<at::ScalarType> dtype_;
  internal::InputOrder input_order_;
};

/// Keeps a metric or collection synced for its lifetime, exception-safe:
///
///     {
///       SyncScope scope(metric);
///       report(metric.compute(), metric.state());
///     }
///
/// Several at once, through sync_together: SyncScope scope(training,
/// validation);
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
