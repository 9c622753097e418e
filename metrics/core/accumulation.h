#pragma once

#include <absl/status/status.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/metrics/core/in_use.h"
#include "tally/metrics/core/state_device.h"
#include "tally/metrics/core/state_rows.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/metric_status.h"
#include "tally/metrics/results.h"
#include "tally/state/state.h"
#include "tally/state/state_key.h"

namespace tally {

namespace sync::internal {
enum class MetricCall : std::uint16_t;
class SyncHistory;
struct SyncItem;
struct SyncResult;
}  // namespace sync::internal

namespace internal {

struct CheckpointGaps;
struct CheckpointOrigin;
struct CheckpointRows;

/// The states of a metric (a column), or of a collection (one per group of
/// metrics that share it), and their state machine: of all data together, in
/// one row, or of parts of it, in rows with keys (slices, the steps of a run).
/// A call that throws leaves everything unchanged.
class Accumulation {
 public:
  explicit Accumulation(MetricOptions options) : options_(std::move(options)) {}
  /// With rows that have keys; none at first.
  Accumulation(MetricOptions options, RowKeys keys);
  Accumulation(Accumulation&&) noexcept = default;
  Accumulation& operator=(Accumulation&&) noexcept = default;

  /// REQUIRES: nothing accumulated.
  void add_column(StateColumn column);
  void clear_columns();
  std::vector<StateColumn>& columns() { return columns_; }
  const std::vector<StateColumn>& columns() const { return columns_; }
  StateColumn& column() { return columns_.front(); }
  const StateColumn& column() const { return columns_.front(); }
  /// The states, row by row.
  StateCell& cell(std::size_t row, std::size_t column) {
    return cells_[row * columns_.size() + column];
  }
  const StateCell& cell(std::size_t row, std::size_t column) const {
    return cells_[row * columns_.size() + column];
  }
  /// Null without keys.
  const RowIndex* index() const { return index_ ? &*index_ : nullptr; }
  /// Adds empty rows, which reset() keeps if they are `known` beforehand.
  void add_rows(const std::vector<std::string>& keys, bool known);
  /// Of this rank; while synced, of all. One without keys.
  std::size_t rows() const { return index_ ? index_->size() : 1; }
  /// The row of batches without a key. REQUIRES: there is one.
  std::size_t last_row() const { return rows() - 1; }
  /// What is left of a row: a value as bytes, instead of states, which no call
  /// computes or syncs again. Empty where there are states.
  const std::string& value_of_row(std::size_t row) const {
    return row_values_[row];
  }
  void finish_row(std::size_t row, std::string value);

  const MetricOptions& options() const { return options_; }
  /// Throws while synced, and if the accumulated state would have been
  /// different with these options.
  void set_options(MetricOptions options);
  /// The current communicator; never null.
  std::shared_ptr<sync::Communicator> communicator() const;

  MetricStatus status() const;
  bool is_synced() const { return synced_; }
  /// Throws unless `verb` is allowed in the current state.
  void require_unsynced(const char* verb) const {
    if (synced_) refuse_synced(verb);
  }

  /// Where values go: see StateDevice. Of a rank without inputs, after a sync
  /// with ranks that had theirs on a GPU, its current GPU.
  std::optional<c10::Device> device() const {
    return synced_ ? synced_device_ : device_.current();
  }
  /// Throws c10::ValueError unless inputs on this device can be absorbed.
  void require_device(MaybeDevice inputs) const {
    if (!device_.takes(inputs)) refuse_device(inputs);
  }
  /// Inputs on this device have been.
  void note_device(MaybeDevice inputs) { device_.note_inputs(inputs); }

  /// Merges one batch into the local state and counts an update, or throws and
  /// changes nothing. The batch is a state of the only column that has batches,
  /// typed or as an AnyState, or one AnyState for each of them; its graph is
  /// dropped, and it is consumed. Throws c10::TypeError for another state.
  template <class Batch>
  void absorb(Batch& batch);
  void absorb(AnyState& batch);
  void absorb(std::vector<AnyState>& batch);
  /// The same for rows with keys, which may be new and are checked. Costs by
  /// the rows of the batch, however many there are.
  void absorb(std::vector<RowBatch>& batch);

  /// Implements Metric::forward for a batch as above, created by `observe()`;
  /// `evaluate(batch)` returns its value.
  template <class Observe, class Evaluate>
  auto forward(MaybeDevice inputs, const Observe& observe,
               const Evaluate& evaluate);

  /// Implements Metric::compute_results: `evaluate(rows)` keeps the value of
  /// StateRows&, and `finish()` is called after a synced state, which may share
  /// memory with the value, has been released. Neither, if the kept value is
  /// current. `keys`: the rows to compute, in their order; all states if null.
  void compute(c10::function_ref<void(StateRows& rows)> evaluate,
               c10::function_ref<void()> finish,
               const std::vector<std::string>* keys = nullptr);

  /// The state that compute() reads: the synced one, or the local one.
  const AnyState& current(std::size_t row, std::size_t column) const {
    const StateCell& own = cell(row, column);
    return synced_ ? own.synced : own.local;
  }
  /// The merged local states of all ranks, for the given call; collective.
  /// Nothing if the values of all ranks are `cached`.
  std::optional<StoredRows> merge_ranks(
      sync::internal::MetricCall call,
      const std::shared_ptr<sync::Communicator>& ranks, bool cached,
      const std::vector<std::string>* keys = nullptr);
  /// Starts merging the current local states of all ranks; collective. To be
  /// called once: returns the merged states, or this rank's as they are now if
  /// there are no other ranks.
  std::function<StateRows()> start_merge_ranks() const;

  /// The keys of rows with states that any rank has, for each of several;
  /// collective, if any of them collects keys. Empty without keys.
  static std::vector<std::vector<std::string>> all_keys(
      sync::internal::MetricCall call,
      c10::ArrayRef<const Accumulation*> several,
      const std::shared_ptr<sync::Communicator>& ranks, sync::Timeout timeout);
  /// This rank's contribution to a sync of these rows: its local states, or
  /// only identities.
  std::vector<sync::internal::SyncItem> items(
      const std::vector<std::string>& keys, bool with_identity_only) const;
  /// Which states of it take part in a sync.
  struct Shape {
    std::vector<std::string> keys = {};
    std::size_t columns = 0;
    bool has_keys = false;
    /// What the sync made of the items from `next` on.
    StoredRows merged(sync::internal::SyncResult& result,
                      std::size_t& next) const;
  };
  Shape shape_of(std::vector<std::string> keys) const {
    return {std::move(keys), columns_.size(), index_.has_value()};
  }
  /// The keys of its own rows with states, in their order.
  std::vector<std::string> own_keys() const;
  /// The number of syncs with each group of ranks.
  sync::internal::SyncHistory* history();

  /// Prepares a sync; the other ranks, if there are any, are notified if this
  /// fails.
  template <class Prepare>
  auto or_report(const std::shared_ptr<sync::Communicator>& communicator,
                 const Prepare& prepare) const -> decltype(prepare());

  /// Null if there are none.
  std::shared_ptr<sync::Communicator> other_ranks() const;
  /// Whether compute() has the value of all ranks: not that of a rank which
  /// evaluates by itself for the moment.
  bool computes_for_all() const;

  void sync();
  /// Throws where sync() would fail because of this rank alone.
  void require_one_sync() const;
  /// Completes a sync in two steps, of which only the first can fail.
  void make_place_for(const StoredRows& merged);
  void take_synced(StoredRows merged) noexcept;
  /// Undoes the first.
  void give_up_place() noexcept {
    if (index_) truncate(own_rows_);
  }
  void unsync();
  void reset();
  /// Of one row.
  void reset_row(std::size_t row);
  /// Those given before are given again.
  void forget_warnings();
  void merge_state(const Accumulation& other);
  void copy_state(const Accumulation& other);
  /// Moves the states; those after a reset or a load go there, too.
  void to(c10::Device device);
  Results state_tensors() const;

  std::int64_t update_count() const;

  std::string serialize() const;
  /// The same with what made it: see MetricBase::spec.
  std::string to_bytes(const std::string& spec) const;
  /// Returns kFailedPrecondition for a checkpoint that belongs to another rank.
  /// With `gaps`, columns whose states it lacks become empty, and are listed.
  absl::Status deserialize(std::string_view bytes,
                           CheckpointGaps* gaps = nullptr);
  /// The local states; with or without rows of which only the value is left.
  StoredRows stored(bool with_values) const;
  /// The same, and identities where there is nothing.
  StoredRows local() const;
  /// Replaces them.
  void take(StoredRows rows);
  /// As a checkpoint has them, and what it says of them, without any.
  CheckpointRows checkpoint() const;
  CheckpointRows empty_rows() const;
  /// The origin recorded in a file that holds this rank's own states.
  CheckpointOrigin origin() const;
  void invalidate_value() { current_value_ = false; }

  /// Adds sentences on options without effect of a column's metrics.
  void add_remarks(std::size_t column, const std::vector<std::string>& remarks);
  /// Gives the warnings of a value of these states that have not been given:
  /// on rank 0 of `ranks`, or here if null.
  void warn(const StateRows& rows,
            const std::shared_ptr<sync::Communicator>& ranks) const;
  /// The same for a value computed later, when this object may be gone.
  std::function<void(const StateRows&)> warn_later() const;

  /// In messages: by default those of the columns.
  std::string label() const;
  void set_label(std::string label) { label_ = std::move(label); }

  using Use = HoldsAlone;
  using Reading = HoldsToRead;
  InUse& in_use() const { return in_use_; }
  [[noreturn]] void refuse_concurrent() const;

 private:
  [[noreturn]] void refuse_synced(const char* verb) const;
  [[noreturn]] void refuse_device(MaybeDevice inputs) const;
  // A state that is not of this column.
  [[noreturn]] void refuse_batch(std::size_t column) const;
  [[noreturn]] void refuse_batch_without_key() const;
  void check_batch(std::size_t column, const AnyState& batch) const {
    if (column >= columns_.size() || !batch.defined() ||
        *columns_[column].identity.ops().type != *batch.ops().type) {
      refuse_batch(column);
    }
  }

  // The ranks that compute() must sync with; null if with none.
  std::shared_ptr<sync::Communicator> ranks_to_sync() const {
    return synced_ || !options_.sync_on_compute() ? nullptr : other_ranks();
  }
  // The same for forward().
  std::shared_ptr<sync::Communicator> ranks_to_sync_on_step() const {
    return options_.dist_sync_on_step() ? other_ranks() : nullptr;
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
                      const std::shared_ptr<sync::Communicator>& communicator);

  // The value of all ranks' batches. A formula may round differently with a
  // graph than without: the value's numbers are always those of the plain
  // state, which every rank has.
  template <class Batch, class Evaluate>
  auto value_of_ranks(const Batch& batch,
                      const std::shared_ptr<sync::Communicator>& communicator,
                      const Evaluate& evaluate);
  static void take_values(const ResultParts& graph, const ResultParts& plain);
  // Returns whether there was a graph.
  static bool drop_graph(const Fields& fields);
  static bool drop_graph(AnyState& state) { return drop_graph(state.fields()); }
  static bool drop_graph(std::vector<AnyState>& states);
  template <class State>
  static bool drop_graph(State& state);

  void move_column(std::size_t column, AnyState& state,
                   c10::Device device) const;

  void absorb_states(c10::ArrayRef<void*> batches);
  void absorb_in_last_row(std::vector<AnyState>& batch);
  // Throws for keys that the rules refuse beside those that there are.
  void check_fresh(std::vector<std::string> keys) const;
  void absorb_rows(std::vector<RowBatch>& rows, bool are_batches);
  void truncate(std::size_t rows);
  void check_same(const Accumulation& other) const;

  // After forward(), which is not collective: rank 0 alone, which computes.
  void warn_of_own_rows() const;

  // Whether the last computed value is valid for the state and these ranks.
  bool value_is_current(
      const std::shared_ptr<sync::Communicator>& communicator) const;

  void pack_states();
  void keep_what_survives(StateRows& rows);
  void reset_cell(std::size_t row, std::size_t column);

  MetricOptions options_;
  std::vector<StateColumn> columns_;
  std::vector<StateCell> cells_;  // row by row
  std::optional<RowIndex> index_;
  std::string label_;
  std::vector<std::string> row_values_;  // of rows with keys
  std::size_t known_rows_ = 0;
  std::size_t own_rows_ = 0;       // while synced: those of this rank
  std::int64_t update_count_ = 0;  // of rows with keys
  std::int64_t synced_update_count_ = 0;
  std::shared_ptr<sync::internal::SyncHistory> history_;
  Sources sources_;
  StateDevice device_;
  std::optional<c10::Device> synced_device_;
  bool synced_ = false;
  bool current_value_ = false;
  bool may_warn_ = false;  // a column has notes or remarks
  // Weak: a later communicator may have the same address.
  std::weak_ptr<sync::Communicator> value_communicator_;
  mutable InUse in_use_;
};

}  // namespace internal
}  // namespace tally

#include "tally/metrics/core/accumulation_inl.h"
