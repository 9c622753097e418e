#include "tally/metrics/core/accumulation.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "tally/metrics/warnings.h"
#include "tally/sync/exchange/state_sync.h"

namespace tally::internal {

Accumulation::Accumulation(MetricOptions options, RowKeys keys)
    : options_(std::move(options)), index_(std::in_place, std::move(keys)) {
  const RowKeys& rules = index_->rules();
  TORCH_CHECK_VALUE(*rules.owner != '\0' && rules.name && rules.check,
                    "expected an owner, a name and a check of rows with keys");
}

void Accumulation::add_column(StateColumn column) {
  for (const Field& field : column.identity.fields()) {
    column.has_notes = column.has_notes || field.kind == Field::Kind::kNote;
  }
  may_warn_ = may_warn_ || column.has_notes || !column.remarks.empty();
  if (index_) {
    column.given = std::make_shared<GivenWarnings>(RowParts::kDisjoint);
  } else if (!column.given) {
    column.given = std::make_shared<GivenWarnings>();
  }
  AnyState identity = column.identity;
  columns_.push_back(std::move(column));
  if (index_) {
    cells_.resize(index_->size() * columns_.size());
  } else {
    cells_.emplace_back().local = std::move(identity);
  }
}

void Accumulation::clear_columns() {
  columns_.clear();
  cells_.clear();
}

void Accumulation::add_rows(const std::vector<std::string>& keys, bool known) {
  reserve_more(cells_, keys.size() * columns_.size());
  reserve_more(row_values_, keys.size());
  index_->append(keys);
  cells_.resize(index_->size() * columns_.size());
  row_values_.resize(index_->size());
  if (known) known_rows_ = index_->size();
  invalidate_value();
}

void Accumulation::finish_row(std::size_t row, std::string value) {
  for (std::size_t c = 0; c < columns_.size(); ++c) cell(row, c) = StateCell();
  row_values_[row] = std::move(value);
}

void Accumulation::set_options(MetricOptions options) {
  require_unsynced("set_metric_options");
  TORCH_CHECK(status() == MetricStatus::kEmpty ||
                  options_state_key(options) == options_state_key(options_),
              label(),
              ": validate_args, nan_policy and compute_on_cpu can be "
              "changed only before the first update");
  options_ = std::move(options);
  invalidate_value();
}

std::int64_t Accumulation::update_count() const {
  if (index_) return synced_ ? synced_update_count_ : update_count_;
  if (cells_.empty()) return 0;
  return synced_ ? cells_.front().synced_count : cells_.front().count;
}

MetricStatus Accumulation::status() const {
  if (synced_) return MetricStatus::kSynced;
  const bool any =
      index_
          ? update_count_ > 0
          : std::any_of(cells_.begin(), cells_.end(),
                        [](const StateCell& each) { return each.count > 0; });
  return any ? MetricStatus::kUpdated : MetricStatus::kEmpty;
}

std::string Accumulation::label() const {
  if (index_) return index_->rules().owner;
  std::string text = label_;
  if (!text.empty()) return text;
  for (const StateColumn& column : columns_) {
    if (column.survives_reset) continue;
    text += (text.empty() ? "" : ", ") + column.label;
  }
  return text;
}

void Accumulation::refuse_synced(const char* verb) const {
  TORCH_CHECK(false, label(), ": ", verb,
              " is not possible while synced; call unsync() first");
}

void Accumulation::refuse_concurrent() const {
  TORCH_CHECK(false, label(),
              " is used by two threads at once; expected one thread at a time");
}

void Accumulation::refuse_batch(std::size_t column) const {
  TORCH_CHECK_TYPE(column < columns_.size(), label(), ": expected a batch of ",
                   columns_.size(), " states, got more");
  TORCH_CHECK_TYPE(false, label(), ": expected a batch with the state of '",
                   columns_[column].label, "', got another");
}

void Accumulation::refuse_batch_without_key() const {
  TORCH_CHECK(false, label(), ": expected a batch with keys, got one without");
}

void Accumulation::absorb(AnyState& batch) {
  check_batch(0, batch);
  if (index_) refuse_batch_without_key();
  absorb_states(batch.data());
}

void Accumulation::absorb_in_last_row(std::vector<AnyState>& batch) {
  if (rows() == 0) refuse_batch_without_key();
  std::vector<RowBatch> row(1);
  row[0].key = index_->key(last_row());
  row[0].states = std::move(batch);
  row[0].states.resize(columns_.size());
  row[0].counts.assign(columns_.size(), 1);
  absorb(row);
}

void Accumulation::absorb(std::vector<AnyState>& batch) {
  if (index_) return absorb_in_last_row(batch);
  c10::SmallVector<void*, 8> states;
  for (std::size_t c = 0; c < batch.size(); ++c) {
    check_batch(c, batch[c]);
    states.push_back(batch[c].data());
  }
  absorb_states(states);
}

void Accumulation::absorb_states(c10::ArrayRef<void*> batches) {
  c10::SmallVector<PendingMerge, 1> merges;
  // A constructor that throws while this grows would leave memory behind.
  merges.reserve(batches.size());
  for (std::size_t c = 0; c < batches.size(); ++c) {
    const StateColumn& column = columns_[c];
    AnyState& into = cells_[c].local;
    merges.emplace_back(into.ops(), into.data(), batches[c],
                        column.label.c_str(), BatchIntake{column.on_cpu});
  }
  sources_.note_update();
  for (PendingMerge& merge : merges) merge.commit();
  for (StateCell& each : cells_) ++each.count;
  invalidate_value();
}

void Accumulation::absorb(std::vector<RowBatch>& batch) {
  sources_.note_update();
  absorb_rows(batch, /*are_batches=*/true);
  ++update_count_;
}

void Accumulation::absorb_rows(std::vector<RowBatch>& rows, bool are_batches) {
  const std::size_t width = columns_.size();
  std::vector<std::string> fresh_keys;
  std::set<std::string_view> keys;
  std::vector<std::size_t> places;
  std::vector<AnyState> first(rows.size() * width);  // where there is none yet
  std::vector<PendingMerge> merges;
  merges.reserve(rows.size() * width);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto known = index_ ? index_->find(rows[r].key) : 0;
    places.push_back(known.value_or(this->rows() + fresh_keys.size()));
    if (!known) fresh_keys.push_back(rows[r].key);
    TORCH_CHECK_VALUE(keys.insert(rows[r].key).second, label(),
                      ": expected each key once in a batch, got ",
                      index_->rules().name(rows[r].key), " twice");
    TORCH_CHECK_VALUE(
        rows[r].states.size() == width && rows[r].counts.size() == width,
        label(), ": expected ", width, " states and counts of each row, got ",
        rows[r].states.size(), " and ", rows[r].counts.size());
    for (std::size_t c = 0; c < width; ++c) {
      const StateColumn& column = columns_[c];
      AnyState& from = rows[r].states[c];
      if (!from.defined()) continue;
      check_batch(c, from);
      AnyState* into = known ? &cell(*known, c).local : nullptr;
      if (into == nullptr || !into->defined()) {
        into = &(first[r * width + c] = column.identity);
      }
      const char* const label = column.label.c_str();
      if (are_batches) {
        merges.emplace_back(into->ops(), into->data(), from.data(), label,
                            BatchIntake{column.on_cpu});
      } else {
        merges.emplace_back(into->ops(), into->data(), from.data(), label);
      }
    }
  }
  if (!fresh_keys.empty()) {
    check_fresh(fresh_keys);
    add_rows(fresh_keys, /*known=*/false);
  }
  for (PendingMerge& merge : merges) merge.commit();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < width; ++c) {
      StateCell& own = cell(places[r], c);
      AnyState& made = first[r * width + c];
      if (made.defined()) own.local = std::move(made);
      own.count += rows[r].counts[c];
    }
  }
  invalidate_value();
}

// With one of those that there are, which they have to be like.
void Accumulation::check_fresh(std::vector<std::string> keys) const {
  const std::size_t seen = index_->size() > 0 ? 1 : 0;
  if (seen > 0) keys.insert(keys.begin(), index_->key(0));
  index_->rules().check(keys, index_->size() - seen);
}

std::vector<std::string> Accumulation::own_keys() const {
  std::vector<std::string> keys;
  if (!index_) return keys;
  for (std::string& key : index_->keys()) {
    if (row_values_[*index_->find(key)].empty()) keys.push_back(std::move(key));
  }
  return keys;
}

bool Accumulation::value_is_current(
    const std::shared_ptr<sync::Communicator>& communicator) const {
  return current_value_ && options_.compute_with_cache() &&
         !value_communicator_.owner_before(communicator) &&
         !communicator.owner_before(value_communicator_);
}

void Accumulation::compute(c10::function_ref<void(StateRows& rows)> evaluate,
                           c10::function_ref<void()> finish,
                           const std::vector<std::string>* keys) {
  const auto ranks = ranks_to_sync();
  try {
    std::optional<StateRows> rows;
    const bool current = value_is_current(ranks);
    if (ranks) {
      auto merged = merge_ranks(sync::internal::MetricCall::kCompute, ranks,
                                current, keys);
      if (!merged) return;
      rows.emplace(columns_.size(), *std::move(merged));
    } else {
      if (current) return;
      pack_states();
      rows.emplace(*this, keys ? *keys : own_keys());
    }
    invalidate_value();
    evaluate(*rows);
    if (may_warn_) warn(*rows, ranks);
    keep_what_survives(*rows);
  } catch (c10::OutOfMemoryError& error) {
    const auto where = device();
    if (where && !where->is_cpu() && !options_.compute_on_cpu()) {
      error.add_context(
          c10::str("to compute ", label(), " on ", *where,
                   "; with the option compute_on_cpu, states are kept, and "
                   "values computed, in the CPU's memory"));
    }
    throw;
  }
  finish();
  current_value_ = true;
  value_communicator_ = ranks;
}

void Accumulation::pack_states() {
  for (StateCell& each : cells_) pack(each.local);
}

void Accumulation::keep_what_survives(StateRows& rows) {
  for (std::size_t i = 0; i < rows.kept_.size(); ++i) {
    AnyState& kept = rows.kept_[i];
    if (!kept.defined()) continue;
    const std::size_t r = i / columns_.size(), c = i % columns_.size();
    StateCell& own = cell(index_ ? *index_->find(rows.key(r)) : 0, c);
    const char* const label = columns_[c].label.c_str();
    if (synced_) merge(own.synced, kept, label);
    if (!own.local.defined()) own.local = columns_[c].identity;
    merge(own.local, std::move(kept), label);
  }
}

void Accumulation::unsync() {
  TORCH_CHECK(synced_, label(), ": unsync() without sync()");
  if (index_) truncate(own_rows_);
  for (StateCell& each : cells_) each.synced = AnyState();
  synced_ = false;
  invalidate_value();
}

void Accumulation::truncate(std::size_t rows) {
  index_->truncate(rows);
  cells_.resize(rows * columns_.size());
  row_values_.resize(rows);
}

void Accumulation::reset_cell(std::size_t row, std::size_t column) {
  AnyState local = columns_[column].survives_reset
                       ? std::move(cell(row, column).local)
                   : index_ ? AnyState()
                            : columns_[column].identity;
  cell(row, column) = StateCell();
  cell(row, column).local = std::move(local);
}

void Accumulation::forget_warnings() {
  for (StateColumn& column : columns_) column.given = column.given->fresh();
}

void Accumulation::reset() {
  if (index_) truncate(known_rows_);
  for (std::size_t r = 0; r < rows(); ++r) {
    for (std::size_t c = 0; c < columns_.size(); ++c) reset_cell(r, c);
  }
  forget_warnings();
  sources_.clear();
  update_count_ = 0;
  device_.replace();
  synced_ = false;
  invalidate_value();
}

void Accumulation::reset_row(std::size_t row) {
  if (synced_) unsync();
  if (!columns_.empty()) update_count_ -= cell(row, 0).count;
  for (std::size_t c = 0; c < columns_.size(); ++c) reset_cell(row, c);
  forget_warnings();
  invalidate_value();
}

}  // namespace tally::internal
