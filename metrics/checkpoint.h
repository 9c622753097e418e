#pragma once

#include <absl/status/status.h>

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
};

/// The states as one envelope: magic, version, length, checksum, then each
/// entry's label, key, schema, update count and fields.
std::string write_checkpoint(const std::vector<CheckpointEntry>& entries);

/// Fills the entries' states (fresh ones) and update counts. The checksum is
/// verified before anything else is read. kDataLoss for bytes that are no
/// intact envelope, kFailedPrecondition for another version or other metrics or
/// options; then the entries are unchanged.
absl::Status read_checkpoint(std::string_view bytes,
                             std::vector<CheckpointEntry>& entries);

/// What of a checkpoint fitted nowhere, and of the entries had nothing in it.
struct CheckpointGaps {
  std::vector<std::string> unread;    // labels
  std::vector<std::size_t> unfilled;  // indexes
};
/// The same for the entries whose key and schema the checkpoint has, under
/// whatever label; the others stay as they are.
absl::Status read_checkpoint_parts(std::string_view bytes,
                                   std::vector<CheckpointEntry>& entries,
                                   CheckpointGaps& gaps);

/// What can be said of so many bytes by those that they begin with, of which 32
/// are enough.
absl::Status check_checkpoint(std::string_view head, std::int64_t size);

}  // namespace tally::internal
