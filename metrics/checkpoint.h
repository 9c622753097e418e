#pragma once

#include <absl/status/status.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tally/state/state.h"

namespace tally::internal {

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
    kUnknown,   ///< nobody said
    kOneRank,   ///< what one of several ranks has accumulated
    kAllRanks,  ///< what all ranks have, merged
    kFiles,     ///< none: it says which files have them, one for each rank
  };

  Kind kind = Kind::kUnknown;
  std::int64_t rank = 0;
  std::int64_t ranks = 1;
  /// Of the files of one save by all ranks: what they have in common, and which
  /// of two names they go by.
  std::int64_t set = 0;
  std::int64_t turn = 0;
};

using CheckOrigin =
    c10::function_ref<absl::Status(const CheckpointOrigin& origin)>;

/// The states as one envelope: magic, version, length, checksum, then each
/// entry's label, key, schema, update count and fields. With an origin or
/// offsets, version 2, which has those as well.
std::string write_checkpoint(const std::vector<CheckpointEntry>& entries,
                             const CheckpointOrigin& origin = {});

/// Fills the entries' states (fresh ones), update counts and offsets. The
/// checksum is verified before anything else is read. kDataLoss for bytes that
/// are no intact envelope, kFailedPrecondition for another version or other
/// metrics or options, and what `check` says of the origin; then the entries
/// are unchanged.
absl::Status read_checkpoint(std::string_view bytes,
                             std::vector<CheckpointEntry>& entries,
                             CheckOrigin check);

/// Whether `own`, which knows its rank or is alone, may have as its own what is
/// of such an origin; kFailedPrecondition says how it is loaded.
absl::Status check_own(const CheckpointOrigin& of_file,
                       const CheckpointOrigin& own);

/// What of a checkpoint fitted nowhere, and of the entries had nothing in it.
struct CheckpointGaps {
  std::vector<std::string> unread;    // labels
  std::vector<std::size_t> unfilled;  // indexes
};
/// The same for the entries whose key and schema the checkpoint has, under
/// whatever label; the others stay as they are.
absl::Status read_checkpoint_parts(std::string_view bytes,
                                   std::vector<CheckpointEntry>& entries,
                                   CheckpointGaps& gaps, CheckOrigin check);

/// What can be said of so many bytes by those that they begin with, of which 32
/// are enough.
absl::Status check_checkpoint(std::string_view head, std::int64_t size);

}  // namespace tally::internal
