#include <utility>

#include "tally/metrics/checkpoint/checkpoint.h"
#include "tally/metrics/core/accumulation.h"
#include "tally/sync/communicator.h"

namespace tally::internal {

StoredRows Accumulation::stored(bool with_values) const {
  StoredRows rows;
  std::vector<std::string> keys;
  if (index_) keys = with_values ? index_->keys() : own_keys();
  for (std::string& key : keys) {
    const std::size_t place = *index_->find(key);
    if (synced_ && place >= own_rows_) continue;
    rows.add_row(std::move(key), 0);
    rows.values.back() = row_values_[place];
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const StateCell& own = cell(place, c);
      rows.cells.push_back({own.local, own.count, own.index_offset});
    }
  }
  if (!index_) {
    for (const StateCell& own : cells_) {
      rows.cells.push_back({own.local, own.count, own.index_offset});
    }
  }
  for (StoredCell& each : rows.cells) pack(each.state);
  rows.update_count = update_count_;
  rows.sources = sources_;
  rows.device = device_.current();
  return rows;
}

CheckpointRows Accumulation::empty_rows() const {
  CheckpointRows rows;
  rows.columns = columns_;
  if (index_) {
    rows.rules = &index_->rules();
    return rows;
  }
  for (const StateColumn& column : columns_) {
    rows.cells.push_back({column.identity});
  }
  return rows;
}

void Accumulation::take(StoredRows rows) {
  std::optional<RowIndex> index = index_;
  if (index) {
    rows.sort();
    index->truncate(known_rows_);
    index->append(rows.keys);
  }
  const std::size_t width = columns_.size();
  std::vector<StateCell> cells((index ? index->size() : 1) * width);
  std::vector<std::string> values(index ? index->size() : 0);
  const std::optional<c10::Device> given = device_.given();
  std::size_t place = 0;
  for (std::size_t r = 0; r < rows.keys.size(); ++r) {
    values[*index->find(rows.keys[r])] = std::move(rows.values[r]);
  }
  for (std::size_t i = 0; i < rows.cells.size(); ++i) {
    if (index) place = *index->find(rows.keys[i / width]);
    StateCell& own = cells[place * width + i % width];
    own.local = std::move(rows.cells[i].state);
    if (given) move_column(i % width, own.local, *given);
    own.count = rows.cells[i].count;
    own.index_offset = rows.cells[i].index_offset;
  }
  index_ = std::move(index);
  cells_ = std::move(cells);
  row_values_ = std::move(values);
  update_count_ = rows.update_count;
  sources_ = rows.sources.of_copy();
  device_.replace(rows.device);
  synced_ = false;
  invalidate_value();
}

CheckpointRows Accumulation::checkpoint() const {
  CheckpointRows rows = empty_rows();
  static_cast<StoredRows&>(rows) = stored(/*with_values=*/true);
  return rows;
}

std::string Accumulation::serialize() const {
  return write_checkpoint(checkpoint());
}

std::string Accumulation::to_bytes(const std::string& spec) const {
  return write_checkpoint(checkpoint(), {}, &spec);
}

// Without syncs a metric is its process's own.
CheckpointOrigin Accumulation::origin() const {
  const auto ranks = options_.sync_on_compute() ? other_ranks() : nullptr;
  CheckpointOrigin origin;
  if (!ranks) return origin;
  origin.kind = CheckpointOrigin::Kind::kOneRank;
  origin.rank = ranks->rank();
  origin.ranks = ranks->size();
  return origin;
}

absl::Status Accumulation::deserialize(std::string_view bytes,
                                       CheckpointGaps* gaps) {
  CheckpointRows rows = empty_rows();
  const auto check = [&](const CheckpointOrigin& of_file) {
    return check_own(of_file, origin());
  };
  const absl::Status status = read_checkpoint(bytes, rows, check, gaps);
  if (status.ok()) take(std::move(rows));
  return status;
}

}  // namespace tally::internal
