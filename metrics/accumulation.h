#pragma once

#include <absl/status/status.h>
#include <c10/util/FunctionRef.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/metrics/metric_options.h"
#include "tally/metrics/results.h"
#include "tally/metrics/state_group.h"
#include "tally/state/outside_inference.h"
#include "tally/state/state.h"
#include "tally/state/state_key.h"

namespace tally {

namespace sync::internal {
enum class SyncCall : std::uint16_t;
class SyncHistory;
struct SyncItem;
struct SyncResult;
}  // namespace sync::internal

/// The lifecycle state of a metric or collection.
///
///   kEmpty --update, forward, load, merge_state--> kUpdated
///   kEmpty or kUpdated --sync--> kSynced --unsync--> kEmpty or kUpdated
///   any --reset--> kEmpty
///
/// update, forward, sync and merge_state in kSynced are errors, as is unsync in
/// any other state; compute() in kSynced uses the synced state.
enum class MetricState { kEmpty, kUpdated, kSynced };

namespace internal {

struct CheckpointEntry;
struct CheckpointGaps;
struct CheckpointOrigin;

/// The states of a metric (one) or collection (one per group of metrics that
/// share it), and their state machine. A call that throws leaves everything
/// unchanged.
class Accumulation {
 public:
  using Group = StateGroup;

  explicit Accumulation(MetricOptions options) : options_(std::move(options)) {}
  Accumulation(Accumulation&& other) noexcept;
  Accumulation& operator=(Accumulation&& other) noexcept;

  /// `on_cpu`: keep the state on the CPU, wherever inputs are.
  void add_group(std::string label, StateKey key, AnyState identity,
                 bool on_cpu);
  std::vector<Group>& groups() { return groups_; }
  const std::vector<Group>& groups() const { return groups_; }
  Group& group() { return groups_.front(); }
  const Group& group() const { return groups_.front(); }

  const MetricOptions& options() const { return options_; }
  /// Throws while synced, and if the accumulated state would have been
  /// different with these options.
  void set_options(MetricOptions options);
  /// The current communicator; never null.
  std::shared_ptr<sync::Communicator> communicator() const;

  MetricState state() const;
  bool is_synced() const { return synced_; }
  /// Throws unless `verb` is allowed in the current state.
  void require_unsynced(const char* verb) const {
    if (synced_) refuse_synced(verb);
  }

  /// Merges one batch into the local state and counts an update, or throws and
  /// changes nothing. The batch is a state of the only group, typed or as an
  /// AnyState, or one AnyState per group; its graph is dropped, and it is
  /// consumed.
  template <class Batch>
  void absorb(Batch& batch) {
    absorb_states(static_cast<void*>(&batch));
  }
  void absorb(AnyState& batch) { absorb_states(batch.data()); }
  void absorb(std::vector<AnyState>& batch);

  /// Implements Metric::forward for a batch as above, created by `observe()`;
  /// `evaluate(batch)` returns its value.
  template <class Observe, class Evaluate>
  auto forward(const Observe& observe, const Evaluate& evaluate) {
    const auto ranks = ranks_to_sync_on_step();
    if (!ranks) require_unsynced("forward");
    auto batch = ranks ? or_report(ranks,
                                   [&] {
                                     require_unsynced("forward");
                                     return observe();
                                   })
                       : observe();
    auto value =
        ranks ? value_of_ranks(batch, ranks, evaluate) : evaluate(batch);
    absorb(batch);
    if (may_warn_) warn_of_own_rows();
    return value;
  }

  /// Implements Metric::compute_results: `evaluate(state_of)` returns the
  /// value, where `state_of(group)` is an AnyState&, and `finish(value)` is
  /// called after a synced state, which may share memory with the value, has
  /// been released. `kept` caches the value between calls.
  template <class Value, class Evaluate, class Finish>
  Value compute(Value& kept, const Evaluate& evaluate, const Finish& finish) {
    const auto ranks = ranks_to_sync();
    States states;
    const bool current = states_to_compute(ranks, states);
    if (!current) {
      invalidate_value();
      const auto state_of = [&](std::size_t group) -> AnyState& {
        return states[group].defined() ? states[group] : this->current(group);
      };
      kept = evaluate(state_of);
      if (may_warn_) warn(state_of, ranks);
      keep_what_outlasts(states);
      states.clear();
      finish(kept);
      set_value_current(ranks);
    }
    return options_.compute_with_cache() ? copy_of(kept) : std::move(kept);
  }

  /// The state that compute() reads: the synced one, or the local one.
  const AnyState& current(std::size_t group) const {
    return synced_ ? groups_[group].synced : groups_[group].local;
  }
  AnyState& current(std::size_t group) {
    return synced_ ? groups_[group].synced : groups_[group].local;
  }
  /// The merged local states of all ranks, for the given call; collective.
  sync::internal::SyncResult merge_ranks(
      sync::internal::SyncCall call,
      const std::shared_ptr<sync::Communicator>& communicator, bool cached);
  /// Starts merging the current local states of all ranks; collective. To be
  /// called once: returns the merged states, or this rank's as they are now if
  /// there are no other ranks.
  std::function<std::vector<AnyState>()> start_merge_ranks() const;

  /// This rank's contribution to a sync: its local states, or only identities.
  std::vector<sync::internal::SyncItem> items(bool with_identity_only) const;
  /// The number of syncs with each group of ranks.
  sync::internal::SyncHistory* history();

  void sync();
  /// Throws where sync() would fail because of this rank alone.
  void require_one_sync() const;
  /// Completes a sync: one state and number of updates for each group.
  void take_synced(AnyState* states,
                   const std::int64_t* update_counts) noexcept;
  void unsync();
  void reset();
  void merge_state(const Accumulation& other);
  void copy_state(const Accumulation& other);
  void to(c10::Device device);
  Results state_tensors() const;

  std::string serialize() const;
  /// Returns kFailedPrecondition for a checkpoint that belongs to another rank.
  absl::Status deserialize(std::string_view bytes);
  /// The same for the groups whose states the checkpoint contains; the others
  /// become empty, and are listed by index.
  absl::Status deserialize_parts(std::string_view bytes, CheckpointGaps& gaps);
  /// The local states as checkpoint entries, fresh entries, and the reverse.
  std::vector<CheckpointEntry> entries() const;
  std::vector<CheckpointEntry> empty_entries() const;
  void take_entries(std::vector<CheckpointEntry> entries);
  /// The origin recorded in a file that holds this rank's own states.
  CheckpointOrigin origin() const;

  void invalidate_value() { current_value_ = false; }

  /// Adds sentences on options without effect of a group's metrics.
  void add_remarks(std::size_t group, const std::vector<std::string>& remarks);
  /// Gives the warnings of a value of these states that have not been given:
  /// on rank 0 of `ranks`, or here if null.
  void warn(c10::function_ref<const AnyState&(std::size_t group)> state_of,
            const std::shared_ptr<sync::Communicator>& ranks) const;
  /// The same for a value computed later, when this object may be gone.
  std::function<void(const std::vector<AnyState>&)> warn_later() const;

  std::string label() const;

  /// Marks the object as in use; a second thread gets an error. Leaves
  /// inference mode, as states and cached values outlive it.
  class Use {
   public:
    explicit Use(const Accumulation& accumulation);
    ~Use() { flag_.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    std::atomic<bool>& flag_;
    OutsideInference outside_;
  };

 private:
  using States = c10::SmallVector<AnyState, 1>;

  [[noreturn]] void refuse_synced(const char* verb) const;
  [[noreturn]] void refuse_concurrent() const;
  std::shared_ptr<sync::Communicator> other_ranks() const;

  // The ranks that compute() must sync with; null if with none.
  std::shared_ptr<sync::Communicator> ranks_to_sync() const {
    return synced_ || !options_.sync_on_compute() ? nullptr : other_ranks();
  }
  // The same for forward().
  std::shared_ptr<sync::Communicator> ranks_to_sync_on_step() const {
    return options_.dist_sync_on_step() ? other_ranks() : nullptr;
  }

  // Prepares a sync; the other ranks are notified if this fails.
  template <class Prepare>
  auto or_report(const std::shared_ptr<sync::Communicator>& communicator,
                 const Prepare& prepare) const -> decltype(prepare()) {
    try {
      return prepare();
    } catch (...) {
      report_failure(communicator);
      throw;
    }
  }

  // In a handler: tells the other ranks of its exception.
  void report_failure(
      const std::shared_ptr<sync::Communicator>& communicator) const;

  // The merged batches of all ranks, with their graph; collective.
  std::vector<AnyState> merge_batches(
      std::vector<AnyState> batch,
      const std::shared_ptr<sync::Communicator>& communicator);
  AnyState merge_batches(
      AnyState batch, const std::shared_ptr<sync::Communicator>& communicator);
  template <class State>
  State merge_batches(const State& batch,
                      const std::shared_ptr<sync::Communicator>& communicator) {
    AnyState merged = merge_batches(AnyState::of(batch), communicator);
    return std::move(merged.get<State>());
  }

  // The value of all ranks' batches. A formula may round differently with a
  // graph than without: the value's numbers are always those of the plain
  // state, which every rank has.
  template <class Batch, class Evaluate>
  auto value_of_ranks(const Batch& batch,
                      const std::shared_ptr<sync::Communicator>& communicator,
                      const Evaluate& evaluate) {
    auto merged = merge_batches(batch, communicator);
    auto value = evaluate(merged);
    if (drop_graph(merged)) {
      auto plain = evaluate(merged);
      ResultParts parts, plain_parts;
      result_parts(value, parts);
      result_parts(plain, plain_parts);
      take_values(parts, plain_parts);
    }
    return value;
  }
  static void take_values(const ResultParts& graph, const ResultParts& plain);
  // Returns whether there was a graph.
  static bool drop_graph(const Fields& fields);
  static bool drop_graph(AnyState& state) { return drop_graph(state.fields()); }
  static bool drop_graph(std::vector<AnyState>& states);
  template <class State>
  static bool drop_graph(State& state) {
    Fields fields;
    state.fields(fields);
    return drop_graph(std::as_const(fields));
  }

  void absorb_states(c10::ArrayRef<void*> batches);

  // After forward(), which is not collective: rank 0 alone, which computes.
  void warn_of_own_rows() const;

  // Whether the last computed value is valid for the state and these ranks.
  bool value_is_current(
      const std::shared_ptr<sync::Communicator>& communicator) const;
  void set_value_current(
      const std::shared_ptr<sync::Communicator>& communicator);

  // Evaluation may store data that survives a reset in a state: it gets a copy,
  // which is kept only if evaluation succeeds.
  void copy_what_outlasts(States& states) const;
  // Fills `states` with those that compute() reads in place of the local or
  // synced ones; collective if there are ranks. True, and no states, if the
  // value is current.
  bool states_to_compute(const std::shared_ptr<sync::Communicator>& ranks,
                         States& states);
  void keep_what_outlasts(const States& states);

  MetricOptions options_;
  std::vector<Group> groups_;
  std::shared_ptr<sync::internal::SyncHistory> history_;
  bool synced_ = false;
  bool current_value_ = false;
  bool may_warn_ = false;  // a group has notes or remarks
  // Weak: a later communicator may have the same address.
  std::weak_ptr<sync::Communicator> value_communicator_;
  mutable std::atomic<bool> in_use_{false};
};

inline Accumulation::Use::Use(const Accumulation& accumulation)
    : flag_(accumulation.in_use_) {
  if (flag_.exchange(true, std::memory_order_acquire)) {
    accumulation.refuse_concurrent();
  }
}

}  // namespace internal
}  // namespace tally
