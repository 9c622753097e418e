#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/checkpoint/checkpoint.h"

namespace tally::internal {

/// A checkpoint as it lies in its bytes, which have to outlive it.
struct HeldCheckpoint {
  struct Column {
    std::string label;
    std::string key;
    std::string schema;

    /// Whether it has the column's fields; without those that are later, too
    /// (see Fields::later).
    bool fits(const StateColumn& column) const;
  };
  struct Cell {
    std::int64_t count = 0;
    std::int64_t index_offset = 0;
    bool is_defined = true;
    std::string_view fields;

    /// REQUIRES: it is of a column that fits, which has this identity.
    void read_into(const AnyState& identity, const Column& column,
                   StoredCell& cell) const;
  };

  CheckpointHead head;
  std::string owner;  // of rows with keys; empty without
  std::int64_t update_count = 0;
  std::vector<Column> columns;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  std::vector<Cell> cells;  // row by row
};

using UseHeld = c10::function_ref<absl::Status(const HeldCheckpoint& held)>;

/// Passes on what an envelope of any version holds: kDataLoss where it is not
/// intact.
absl::Status read_held(std::string_view bytes, CheckOrigin check, UseHeld use);

/// Why a checkpoint is not of these columns.
std::string column_difference(const HeldCheckpoint::Column& held,
                              const StateColumn& column);

/// Whether the bytes begin like one of the two formats that rows with keys had
/// before version 3: those of SlicedMetric and of MetricTracker.
bool is_old_checkpoint(std::string_view head);
/// Passes on what they hold, with the columns given where there are no rows.
absl::Status read_old_held(std::string_view bytes,
                           const std::vector<StateColumn>& columns,
                           UseHeld use);

}  // namespace tally::internal
