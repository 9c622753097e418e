#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "tally/metrics/accumulation.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/results.h"

namespace tally {

/// One input of update() with its type erased: no copy, no allocation. It must
/// not outlive what it was made of.
class InputRef {
 public:
  template <class T>
  static InputRef of(const T& value) {
    return InputRef(&value, typeid(T));
  }
  template <class T>
  const T* as() const {
    return *type_ == typeid(T) ? static_cast<const T*>(value_) : nullptr;
  }
  const std::type_info& type() const { return *type_; }

 private:
  InputRef(const void* value, const std::type_info& type)
      : value_(value), type_(&type) {}

  const void* value_;
  const std::type_info* type_;
};
using Inputs = c10::ArrayRef<InputRef>;

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

namespace internal {
/// Tensors as they are, none as an undefined one; plain numbers as 0-dim
/// tensors, so that `mean.update(0.25)` works.
template <class T>
decltype(auto) as_input(const T& value) {
  static_assert(!std::is_same_v<T, c10::IValue>,
                "expected a tensor, got an IValue: pass value.toTensor()");
  if constexpr (std::is_same_v<T, std::optional<at::Tensor>>) {
    return value.value_or(at::Tensor());
  } else if constexpr (std::is_same_v<T, std::nullopt_t>) {
    return at::Tensor();
  } else if constexpr (std::is_floating_point_v<T>) {
    return scalar_tensor(static_cast<double>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return scalar_tensor(static_cast<std::int64_t>(value));
  } else {
    return (value);
  }
}
}  // namespace internal

/// A value on its way: what sync_async() returns. Movable; destroyed without
/// wait(), by whatever thread, it still takes part to the end, so that no other
/// rank waits in vain.
template <class Value>
class PendingValue {
 public:
  explicit PendingValue(std::function<Value()> finish)
      : finish_(std::move(finish)) {}
  PendingValue(PendingValue&& other) noexcept
      : finish_(std::exchange(other.finish_, nullptr)) {}
  PendingValue& operator=(PendingValue&& other) noexcept {
    finish_ = std::exchange(other.finish_, nullptr);
    return *this;
  }

  /// Whether the value has yet to be taken.
  bool pending() const noexcept { return finish_ != nullptr; }
  /// The value over all ranks as of sync_async(). Throws SyncError as sync()
  /// does, and c10::Error if the value was taken before.
  Value wait() {
    TORCH_CHECK(pending(),
                "wait() was called twice; expected it once for each ",
                "sync_async()");
    return std::exchange(finish_, nullptr)();
  }

 private:
  std::function<Value()> finish_;
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
/// one of them, ranks without data too.
///
/// Thread-safety: const functions from any thread; others from one at a time,
/// which is checked.
class Metric {
 public:
  virtual ~Metric() = default;
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;

  /// Accumulates one batch. Throws c10::ValueError, c10::TypeError or
  /// c10::IndexError for inputs that the metric's header does not allow.
  template <class... Args>
  void update(const Args&... args) {
    update_inputs({InputRef::of(internal::as_input(args))...});
  }
  /// Accumulates one batch and returns its value: of this rank's batch, or with
  /// dist_sync_on_step of all ranks' batches together. Differentiable metrics
  /// return it with a graph.
  template <class... Args>
  Results forward_results(const Args&... args) {
    return forward_inputs({InputRef::of(internal::as_input(args))...});
  }
  /// The value of everything accumulated, over all ranks unless
  /// sync_on_compute is off; each result a tensor of its own.
  virtual Results compute_results() = 0;

  /// The same for a list of inputs.
  void update_inputs(Inputs inputs);
  Results forward_inputs(Inputs inputs);
  void update_inputs(std::initializer_list<InputRef> inputs) {
    update_inputs(Inputs(inputs));
  }
  Results forward_inputs(std::initializer_list<InputRef> inputs) {
    return forward_inputs(Inputs(inputs));
  }

  /// Replaces the local state by that of all ranks until unsync(). Collective.
  void sync() {
    const internal::Accumulation::Use use(accumulation_);
    accumulation_.sync();
  }
  /// Back to the local state.
  void unsync() {
    const internal::Accumulation::Use use(accumulation_);
    accumulation_.unsync();
  }
  /// Back to before the first update.
  void reset() {
    const internal::Accumulation::Use use(accumulation_);
    accumulation_.reset();
  }
  /// Adds what `other`, the same metric with the same options, accumulated.
  void merge_state(const Metric& other);

  MetricState status() const { return accumulation_.state(); }
  bool is_synced() const { return accumulation_.is_synced(); }
  /// Batches accumulated; while synced, by all ranks.
  std::int64_t update_count() const;
  /// A copy of the state, by field.
  Results state() const { return accumulation_.state_tensors(); }

  /// Moves the state; inputs are expected on the same device from now on.
  void to(c10::Device device);
  /// The dtype of floating-point results. Default: float64 for what is
  /// accumulated as such. States keep their precision.
  void set_dtype(at::ScalarType dtype);

  /// The state as bytes with version and checksum, and back. The metric must
  /// be the same with the same options; on any error it stays as it was.
  /// A save while synced saves this rank's own state.
  std::string serialize() const { return accumulation_.serialize(); }
  absl::Status deserialize(std::string_view bytes);
  absl::Status save(const std::string& path) const;
  absl::Status load(const std::string& path);

  /// A metric of its own with the same options and state.
  virtual std::unique_ptr<Metric> clone() const = 0;

  /// For example "MulticlassAccuracy".
  virtual std::string name() const = 0;
  /// For example "MulticlassAccuracy(num_classes=10, average=macro)".
  virtual std::string repr() const = 0;
  virtual bool is_differentiable() const = 0;
  /// Empty where neither is.
  virtual std::optional<bool> higher_is_better() const = 0;
  /// Metrics with equal keys accumulate the same state from the same inputs.
  const std::string& state_key() const { return accumulation_.group().key; }
  /// The key of a state from which derive() makes this metric's, so that who
  /// accumulates that one need not accumulate this one; empty if there is none.
  virtual std::string source_key() const { return {}; }
  const MetricOptions& metric_options() const {
    return accumulation_.options();
  }
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
  explicit Metric(MetricOptions options) : accumulation_(std::move(options)) {}
  Metric(Metric&&) noexcept = default;
  Metric& operator=(Metric&&) noexcept = default;

  /// Makes a result's tensor fit to be handed out: of the dtype asked for,
  /// shared with nobody.
  void finish(at::Tensor& value) const;

  friend class MetricCollection;
  internal::Accumulation accumulation_;
  std::optional<at::ScalarType> dtype_;
};

/// Syncs a metric or collection for as long as it lives, exceptions included:
///
///     {
///       SyncScope scope(metric);
///       report(metric.compute(), metric.state());
///     }
template <class Syncable>
class SyncScope {
 public:
  explicit SyncScope(Syncable& syncable) : syncable_(syncable) {
    syncable_.sync();
  }
  ~SyncScope() {
    if (syncable_.is_synced()) syncable_.unsync();
  }
  SyncScope(const SyncScope&) = delete;
  SyncScope& operator=(const SyncScope&) = delete;

 private:
  Syncable& syncable_;
};

}  // namespace tally
