#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/intervals/unit_columns.h"
#include "tally/state/fields.h"
#include "tally/state/state.h"

namespace tally::internal::intervals {

/// How units are put together into blocks: up to `blocks` units there is one
/// for each; more of them are divided by seed and id.
struct BlockRules {
  std::int64_t blocks = 0;
  std::int64_t seed = 0;

  bool divides(std::size_t units) const {
    return units > static_cast<std::size_t>(blocks);
  }
  std::int64_t block_of(std::int64_t id) const;
};

/// Whether a state is rows that merge by being appended, and sizes that all of
/// its parts share.
bool keeps_rows(const AnyState& state);

/// The state of a unit, or of a block of them.
struct UnitState {
  std::int64_t id = 0;  ///< or the block
  double size = 0;      ///< rows that count, or their weights
  double rows = 0;      ///< that came
  AnyState state;
};

/// Those of the units, in the order of their ids.
struct UnitStateList {
  std::vector<UnitState> units;
  bool are_blocks = false;
};

/// The states of a metric for each of many units, side by side: a column for
/// each field of the metric's state, so that they grow, merge and sync as other
/// rows do. Units come in parts, from several batches and ranks; which of them
/// are divided into blocks depends on all together alone.
class UnitStates {
 public:
  UnitStates() = default;
  UnitStates(std::shared_ptr<const AnyState> identity, BlockRules rules);

  /// A part with a state of the metric. REQUIRES: no graph.
  void add(const std::vector<UnitState>& parts, bool are_blocks);
  /// Parts of `lengths` rows each, in the order of the state's rows. REQUIRES:
  /// a state whose fields are rows, all of the same number.
  void add_rows(const AnyState& state, const std::vector<std::int64_t>& ids,
                const std::vector<std::int64_t>& lengths, bool are_blocks);
  /// Notes on rows, which are those of all units together.
  void add_notes(const AnyState& state);

  /// Throws c10::ValueError for states that no parts have.
  UnitStateList units() const;

  void fields(Fields& f);
  void compact();

 private:
  /// Throws c10::ValueError for columns of another number of parts than ids.
  void check() const;
  /// units() of a state that is rows, in one copy.
  void gather_rows(const std::vector<std::int64_t>& owners,
                   std::vector<UnitState>& units) const;
  static bool is_data(const Field& field) {
    return field.kind != Field::Kind::kNote;
  }
  std::int64_t stored() const;
  void append_heads(const std::vector<std::int64_t>& ids,
                    const std::vector<double>& sizes,
                    const std::vector<double>& rows, bool are_blocks);

  std::shared_ptr<const AnyState> identity_;
  BlockRules rules_;
  std::shared_ptr<const std::vector<std::string>> names_;  // of all fields
  Rows ids_;         // int64: of units, or blocks
  Rows are_blocks_;  // uint8
  Rows sizes_;       // float64
  Rows rows_;        // float64
  std::vector<UnitColumn> columns_;
  std::vector<Note> notes_;
  std::int64_t least_stored_ = 0;  // what the last compact() left
};

}  // namespace tally::internal::intervals
