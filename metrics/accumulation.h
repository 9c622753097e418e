#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/metric_options.h"
#include "tally/metrics/results.h"
#include "tally/state/state.h"
#include "tally/sync/state_sync.h"

namespace tally {

/// Where a metric or collection stands.
///
///   kEmpty --update, forward, load, merge_state--> kUpdated
///   kEmpty or kUpdated --sync--> kSynced --unsync--> kEmpty or kUpdated
///   any --reset--> kEmpty
///
/// update, forward, sync and merge_state while synced are errors, as is unsync
/// while not; compute() in kSynced uses the synced state.
enum class MetricState { kEmpty, kUpdated, kSynced };

namespace internal {

/// The states that belong together in one metric (one) or collection (one per
/// group of metrics that share it), and the state machine over them. Whatever
/// throws leaves everything as it was.
class Accumulation {
 public:
  struct Group {
    std::string label;  // for errors and for the other ranks
    std::string key;    // what makes two states the same kind of state
    AnyState identity;
    AnyState local;   // accumulated by this rank
    AnyState synced;  // of all ranks, between sync() and unsync()
    bool on_cpu = false;
    std::int64_t update_count = 0;
    std::int64_t synced_update_count = 0;
  };

  explicit Accumulation(MetricOptions options) : options_(std::move(options)) {}
  Accumulation(Accumulation&& other) noexcept;
  Accumulation(const Accumulation&) = delete;
  Accumulation& operator=(const Accumulation&) = delete;
  Accumulation& operator=(Accumulation&& other) noexcept;

  /// `on_cpu`: keep the state there, wherever inputs are.
  void add_group(std::string label, std::string key, AnyState identity,
                 bool on_cpu);
  std::vector<Group>& groups() { return groups_; }
  const std::vector<Group>& groups() const { return groups_; }
  Group& group() { return groups_.front(); }
  const Group& group() const { return groups_.front(); }

  const MetricOptions& options() const { return options_; }
  /// Throws while synced, and if something was accumulated that other options
  /// would have made different.
  void set_options(MetricOptions options);
  /// The communicator to use now; never null.
  std::shared_ptr<sync::Communicator> communicator() const;

  /// The ranks that compute() must sync with; null if with none.
  std::shared_ptr<sync::Communicator> ranks_to_sync() const {
    return synced_ || !options_.sync_on_compute() ? nullptr : other_ranks();
  }
  /// The same for forward().
  std::shared_ptr<sync::Communicator> ranks_to_sync_on_step() const {
    return options_.dist_sync_on_step() ? other_ranks() : nullptr;
  }

  MetricState state() const;
  bool is_synced() const { return synced_; }
  /// Throws unless `verb` is possible now.
  void require_unsynced(const char* verb) const {
    if (synced_) refuse_synced(verb);
  }

  /// Merges one batch's states, one per group and without their graphs, into
  /// the local ones and counts an update: all of them or none. The batches are
  /// used up.
  void absorb(c10::ArrayRef<void*> batches);
  void absorb(void* batch) { absorb(c10::ArrayRef<void*>(batch)); }

  /// What compute() reads: the synced state, or the local one.
  const AnyState& current(std::size_t group) const {
    return synced_ ? groups_[group].synced : groups_[group].local;
  }
  /// The merge of all ranks' local states; collective.
  sync::SyncResult merge_ranks(
      const std::shared_ptr<sync::Communicator>& communicator, bool cached);
  /// The merge of all ranks' batch states, graph and all; collective.
  std::vector<AnyState> merge_ranks(
      const std::vector<AnyState>& batches,
      const std::shared_ptr<sync::Communicator>& communicator);
  /// Starts the merge of all ranks' local states as they are now; collective.
  /// Null if there are no others.
  std::shared_ptr<sync::PendingSync> start_merge_ranks() const;
  /// For the other ranks, when this one fails before merge_ranks(batches).
  void report_failure(
      const std::exception& error,
      const std::shared_ptr<sync::Communicator>& communicator) const;

  void sync();
  void unsync();
  void reset();
  void merge_state(const Accumulation& other);
  void copy_state(const Accumulation& other);
  void to(c10::Device device);
  Results state_tensors() const;

  std::string serialize() const;
  absl::Status deserialize(std::string_view bytes);

  /// Whether the last computed value is still that of the state, as computed
  /// for these ranks.
  bool value_is_current(
      const std::shared_ptr<sync::Communicator>& communicator) const {
    return current_value_ && options_.compute_with_cache() &&
           !value_communicator_.owner_before(communicator) &&
           !communicator.owner_before(value_communicator_);
  }
  void set_value_current(
      const std::shared_ptr<sync::Communicator>& communicator) {
    current_value_ = true;
    value_communicator_ = communicator;
  }
  void invalidate_value() { current_value_ = false; }

  std::string label() const;

  /// Marks the object as in use; a second thread gets an error.
  class Use {
   public:
    explicit Use(const Accumulation& accumulation);
    ~Use() { flag_.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    std::atomic<bool>& flag_;
  };

 private:
  [[noreturn]] void refuse_synced(const char* verb) const;
  [[noreturn]] void refuse_concurrent() const;
  std::shared_ptr<sync::Communicator> other_ranks() const;
  std::vector<sync::SyncItem> items(bool with_identity_only) const;

  MetricOptions options_;
  std::vector<Group> groups_;
  bool synced_ = false;
  bool current_value_ = false;
  // Weak: a later communicator at the same address is another one.
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
