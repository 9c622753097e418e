#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tally/metrics/core/accumulation.h"
#include "tally/metrics/warnings.h"

/// States that go to another device, or to another accumulation.
namespace tally::internal {

void Accumulation::check_same(const Accumulation& other) const {
  const std::size_t shared = std::min(columns_.size(), other.columns_.size());
  for (std::size_t i = 0; i < shared; ++i) {
    const StateKey& key = columns_[i].key;
    const StateKey& others = other.columns_[i].key;
    TORCH_CHECK_VALUE(key.text() == others.text(), label(),
                      ": merge_state expected the same metrics with the same "
                      "options, of ",
                      key.text(), ", got ", others.text());
    TORCH_CHECK_VALUE(key == others, label(),
                      ": merge_state expected states of ", key.type_names(),
                      ", got those of ", others.type_names(),
                      ", which has the same name");
  }
  TORCH_CHECK_VALUE(columns_.size() == other.columns_.size(), label(),
                    ": merge_state expected the same metrics, got ",
                    other.label());
}

void Accumulation::merge_state(const Accumulation& other) {
  const Reading reading(other);
  require_unsynced("merge_state");
  other.require_unsynced("merge_state");
  check_same(other);
  const bool moves =
      device_.current() && device_.current() != other.device_.current();
  std::vector<RowBatch> rows;
  for (std::size_t r = 0; r < other.rows(); ++r) {
    RowBatch& row = rows.emplace_back();
    if (index_) {
      row.key = other.index_->key(r);
      const auto own = index_->find(row.key);
      TORCH_CHECK_VALUE(
          other.row_values_[r].empty() && (!own || row_values_[*own].empty()),
          label(), ": merge_state expected states, of ",
          index_->rules().name(row.key), " only the value is left");
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      row.states.push_back(other.cell(r, c).local);
      row.counts.push_back(other.cell(r, c).count);
      if (moves) move_column(c, row.states.back(), *device_.current());
    }
  }
  Sources sources = sources_.merged(other.sources_);
  absorb_rows(rows, /*are_batches=*/false);
  sources_ = std::move(sources);
  update_count_ += other.update_count_;
  if (!device_.current()) device_.note_inputs(other.device_.current());
}

void Accumulation::copy_state(const Accumulation& other) {
  const Reading reading(other);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const GivenWarnings& given = *other.columns_[c].given;
    columns_[c].given = std::make_shared<GivenWarnings>(given);
  }
  cells_ = other.cells_;
  index_ = other.index_;
  row_values_ = other.row_values_;
  known_rows_ = other.known_rows_;
  own_rows_ = other.own_rows_;
  update_count_ = other.update_count_;
  synced_update_count_ = other.synced_update_count_;
  history_ = other.history_;
  sources_ = other.sources_.of_copy();
  device_ = other.device_;
  synced_device_ = other.synced_device_;
  synced_ = other.synced_;
  invalidate_value();
}

void Accumulation::refuse_device(MaybeDevice inputs) const {
  TORCH_CHECK_VALUE(false, label(), ": expected inputs on ", *device_.current(),
                    ", where its state is, got them on ", *inputs.get(),
                    "; to(device) moves the state");
}

void Accumulation::move_column(std::size_t column, AnyState& state,
                               c10::Device device) const {
  if (state.defined() && !columns_[column].on_cpu) {
    move_to(state.fields(), device);
  }
}

void Accumulation::to(c10::Device device) {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const std::size_t column = i % columns_.size();
    move_column(column, cells_[i].local, device);
    move_column(column, cells_[i].synced, device);
  }
  device_.give(device);
  if (synced_) synced_device_ = device;
  invalidate_value();
}

}  // namespace tally::internal
