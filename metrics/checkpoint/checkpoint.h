#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/core/state_rows.h"
#include "tally/state/state.h"

namespace tally::internal {

// absl's string_view is a type of its own here.

/// kFailedPrecondition.
absl::Status precondition(const std::string& message);
absl::Status invalid_argument(const std::string& message);

/// What an Accumulation has, or what is read for it.
struct CheckpointRows : StoredRows {
  std::vector<StateColumn> columns;
  /// Null for the only row of a metric or collection, which has no key.
  const RowKeys* rules = nullptr;

  std::size_t rows() const { return rules != nullptr ? keys.size() : 1; }
  StoredCell& cell(std::size_t row, std::size_t column) {
    return cells[row * columns.size() + column];
  }
  const StoredCell& cell(std::size_t row, std::size_t column) const {
    return cells[row * columns.size() + column];
  }
};

/// Whose states a checkpoint holds.
struct CheckpointOrigin {
  enum class Kind : std::int64_t {
    kUnknown,   ///< not recorded
    kOneRank,   ///< the state of one of several ranks
    kAllRanks,  ///< the merged state of all ranks
    kFiles,     ///< none: an index of the files that do, one per rank
  };

  Kind kind = Kind::kUnknown;
  std::int64_t rank = 0;
  std::int64_t ranks = 1;
  /// For the files of one save by all ranks: their common identifier, and which
  /// of two names they use.
  std::int64_t set = 0;
  std::int64_t turn = 0;
};

/// What a checkpoint says of itself before its states; empty in those that were
/// written without.
struct CheckpointHead {
  std::string spec;  ///< see MetricBase::spec
  Sources sources;
};

using CheckOrigin =
    c10::function_ref<absl::Status(const CheckpointOrigin& origin)>;

/// Writes the states as one envelope: magic, version, length, checksum, then
/// each column's label, key, schema, count and fields. With an origin or
/// offsets it is version 2, which includes them; of rows with keys version 3,
/// which has what columns have in common once, then row by row. With a spec it
/// is version 4: spec and sources, then one of the others.
std::string write_checkpoint(const CheckpointRows& rows,
                             const CheckpointOrigin& origin = {},
                             const std::string* spec = nullptr);

/// Whether the bytes are compared with their checksum: a pass over all of them,
/// which needs to be made only once.
enum class Checksum { kVerify, kIgnore };

/// The head of an intact checkpoint.
absl::StatusOr<CheckpointHead> read_checkpoint_head(
    std::string_view bytes, Checksum checksum = Checksum::kVerify);

/// The states of a checkpoint without a column, and the columns without a
/// state.
struct CheckpointGaps {
  std::vector<std::string> unread;    // labels
  std::vector<std::size_t> unfilled;  // indexes
};

/// Fills the rows of these columns. The checksum is verified before anything
/// else is read. Returns kDataLoss for anything but an intact envelope,
/// kFailedPrecondition for another version, other metrics or options, and keys
/// that the rules refuse, and the result of `check` on the origin; on error
/// `rows` is unchanged. With `gaps`, columns whose key and schema the
/// checkpoint lacks under any label are no error, and stay empty.
absl::Status read_checkpoint(std::string_view bytes, CheckpointRows& rows,
                             CheckOrigin check, CheckpointGaps* gaps = nullptr);

/// Whether `own`, a rank or a single process, may load states of the given
/// origin as its own; kFailedPrecondition explains how to load them.
absl::Status check_own(const CheckpointOrigin& of_file,
                       const CheckpointOrigin& own);

/// Validates a checkpoint of the given size by its first bytes; 32 suffice.
absl::Status check_checkpoint(std::string_view head, std::int64_t size);

}  // namespace tally::internal
