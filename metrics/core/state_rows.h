#pragma once

#include <c10/util/SmallVector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/core/sources.h"
#include "tally/state/state.h"
#include "tally/state/state_key.h"

namespace tally::internal {

class Accumulation;
class GivenWarnings;

/// What the states of an Accumulation's rows have in common: of a metric, or of
/// the metrics of a collection that share a state. Fixed before the first
/// update, and the same on all ranks.
struct StateColumn {
  std::string label;  // for error messages and for the other ranks
  StateKey key;       // equal for states of the same kind
  AnyState identity;
  bool on_cpu = false;  // keep states on the CPU, wherever inputs are
  /// Not of batches, but of computed values, which a reset does not forget.
  bool survives_reset = false;
  bool has_notes = false;
  std::vector<std::string> remarks = {};  // sentences on options without effect
  std::shared_ptr<GivenWarnings> given = nullptr;
};

/// The state of one row and column.
struct StateCell {
  AnyState local;   // of this rank; undefined where it has nothing of the row
  AnyState synced;  // of all ranks, between sync() and unsync()
  /// The updates, or, of rows with keys that count them, the inputs' rows.
  std::int64_t count = 0;
  std::int64_t synced_count = 0;
  /// Batches before the next one that are not among its own updates: those of
  /// ranks whose state a checkpoint has merged with this one's, or those that
  /// went to another rank (then negative).
  std::int64_t index_offset = 0;

  std::int64_t next_index() const { return count + index_offset; }
};

/// How the rows of an Accumulation are told apart: each has a key, in whose
/// order they are synced and computed.
/// Owner, name and check are required.
struct RowKeys {
  const char* owner = "";  // for messages and for the other ranks
  /// "the slice north".
  std::string (*name)(const std::string& key) = nullptr;
  /// Whether each rank has keys of its own, which are exchanged before a sync.
  /// Otherwise all ranks must have the same ones.
  bool collected = false;
  /// Throws c10::ValueError for keys that there cannot be, besides so many
  /// others that are known to be right: of new ones, the first is one of those
  /// that there are, if there are any.
  std::function<void(const std::vector<std::string>& keys, std::size_t others)>
      check;
  /// Throws for bytes that are no value of a row: see
  /// Accumulation::value_of_row. Null: rows have none.
  void (*check_value)(const std::string& bytes) = nullptr;
};

/// With what the keys of columns begin that survive a reset.
inline constexpr const char* kKeptColumn = "kept of ";

/// Memory for so many more, which grows as that of push_back.
template <class T>
void reserve_more(std::vector<T>& values, std::size_t count) {
  const std::size_t size = values.size() + count;
  if (size > values.capacity())
    values.reserve(std::max(size, 2 * values.size()));
}

/// A key of a number that is not negative, with the order of numbers.
std::string number_key(std::int64_t number);
std::int64_t number_of_key(const std::string& key);

/// The keys of rows, and their places.
class RowIndex {
 public:
  explicit RowIndex(RowKeys rules) : rules_(std::move(rules)) {}
  RowIndex(const RowIndex& other);
  RowIndex& operator=(const RowIndex& other);
  RowIndex(RowIndex&&) noexcept = default;
  RowIndex& operator=(RowIndex&&) noexcept = default;

  const RowKeys& rules() const { return rules_; }
  std::size_t size() const { return keys_.size(); }
  const std::string& key(std::size_t place) const { return *keys_[place]; }
  std::optional<std::size_t> find(const std::string& key) const;
  /// In their order.
  std::vector<std::string> keys() const;
  /// Adds those that it lacks behind the others, in this order, or throws and
  /// changes nothing.
  void append(const std::vector<std::string>& keys);
  /// Keeps the first `count`.
  void truncate(std::size_t count);

 private:
  RowKeys rules_;
  std::map<std::string, std::size_t> places_;
  std::vector<const std::string*> keys_;  // by place
};

/// What is added to a row: a state and a count for each column. A batch has
/// each key once.
struct RowBatch {
  std::string key;
  std::vector<AnyState> states;              // undefined: nothing
  c10::SmallVector<std::int64_t, 4> counts;  // see StateCell
};

/// A state as it is stored, or merged over ranks.
struct StoredCell {
  AnyState state;  // undefined: nothing
  /// See StateCell.
  std::int64_t count = 0;
  std::int64_t index_offset = 0;
};

/// Such states row by row.
struct StoredRows {
  std::vector<std::string> keys;    // none of the only row without one
  std::vector<std::string> values;  // by key: see Accumulation::value_of_row
  std::vector<StoredCell> cells;
  std::int64_t update_count = 0;      // of rows with keys
  Sources sources;                    // not of what a sync merges
  std::optional<c10::Device> device;  // see Accumulation::device

  /// Adds a row with nothing, of so many columns.
  void add_row(std::string key, std::size_t columns);
  /// Puts rows into the order of their keys.
  void sort();
};

/// Adds other rows of these columns. Throws c10::ValueError for states that do
/// not fit, and keys that the rules, if there are any, refuse.
void merge_rows(const std::vector<StateColumn>& columns, const RowKeys* rules,
                StoredRows more, StoredRows& into);

/// States row by row, in the order of keys: as an Accumulation has them, or
/// stored.
class StateRows {
 public:
  /// The rows with these keys as they are, of which it must know all; without
  /// keys, the only one. `from` must outlive it.
  StateRows(const Accumulation& from, const std::vector<std::string>& keys);
  StateRows(std::size_t columns, StoredRows stored)
      : columns_(columns), stored_(std::move(stored)) {}

  /// Of rows with keys.
  std::size_t size() const;
  const std::string& key(std::size_t row) const;
  std::int64_t count(std::size_t row, std::size_t column = 0) const;
  const AnyState& state(std::size_t row, std::size_t column) const {
    return from_ != nullptr ? live(row, column)
                            : stored_.cells[row * columns_ + column].state;
  }
  /// Of the first row.
  const AnyState& operator[](std::size_t column) const {
    return state(0, column);
  }
  /// Where their values go: see Accumulation::device.
  std::optional<c10::Device> device() const;
  /// Of a column that survives a reset: a copy, for evaluation to change.
  AnyState& kept(std::size_t row, std::size_t column);

 private:
  friend class Accumulation;

  const AnyState& live(std::size_t row, std::size_t column) const;

  const Accumulation* from_ = nullptr;
  std::size_t columns_ = 0;
  c10::SmallVector<std::size_t, 1> places_;  // in from_
  StoredRows stored_;
  std::vector<AnyState> kept_;  // row by row, what kept() was called for
};

}  // namespace tally::internal
