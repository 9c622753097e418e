#pragma once

#include <absl/status/status.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tally/state/state.h"

namespace tally::internal {

/// kFailedPrecondition. absl's string_view is a type of its own here.
absl::Status precondition(const std::string& message);

struct CheckpointEntry {
  std::string label;
  std::string key;
  AnyState state;
  std::int64_t update_count = 0;
  /// See Accumulation::Group.
  std::int64_t index_offset = 0;
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

using CheckOrigin =
    c10::function_ref<absl::Status(const CheckpointOrigin& origin)>;

/// Writes the states as one envelope: magic, version, length, checksum, then
/// each entry's label, key, schema, update count and fields. With an origin or
/// offsets it is version 2, which includes them.
std::string write_checkpoint(const std::vector<CheckpointEntry>& entries,
                             const CheckpointOrigin& origin = {});

/// Fills the entries' (fresh) states, update counts and offsets. The checksum
/// is verified before anything else is read. Returns kDataLoss for anything but
/// an intact envelope, kFailedPrecondition for another version or other metrics
/// or options, and the result of `check` on the origin; on error the entries
/// are unchanged.
absl::Status read_checkpoint(std::string_view bytes,
                             std::vector<CheckpointEntry>& entries,
                             CheckOrigin check);

/// Whether `own`, a rank or a single process, may load states of the given
/// origin as its own; kFailedPrecondition explains how to load them.
absl::Status check_own(const CheckpointOrigin& of_file,
                       const CheckpointOrigin& own);

/// The states of a checkpoint without an entry, and the entries without a
/// state.
struct CheckpointGaps {
  std::vector<std::string> unread;    // labels
  std::vector<std::size_t> unfilled;  // indexes
};
/// The same for the entries whose key and schema the checkpoint contains, under
/// any label; the others are unchanged.
absl::Status read_checkpoint_parts(std::string_view bytes,
                                   std::vector<CheckpointEntry>& entries,
                                   CheckpointGaps& gaps, CheckOrigin check);

/// Validates a checkpoint of the given size by its first bytes; 32 suffice.
absl::Status check_checkpoint(std::string_view head, std::int64_t size);

}  // namespace tally::internal
