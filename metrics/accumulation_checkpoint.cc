#include <utility>

#include "tally/metrics/accumulation.h"
#include "tally/metrics/checkpoint.h"

namespace tally::internal {

std::vector<CheckpointEntry> Accumulation::entries() const {
  std::vector<CheckpointEntry> entries;
  for (const Group& group : groups_) {
    entries.push_back({group.label, group.key, group.local, group.update_count,
                       group.index_offset});
  }
  return entries;
}

std::vector<CheckpointEntry> Accumulation::empty_entries() const {
  std::vector<CheckpointEntry> entries;
  for (const Group& group : groups_) {
    entries.push_back({group.label, group.key, group.identity});
  }
  return entries;
}

void Accumulation::take_entries(std::vector<CheckpointEntry> entries) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].local = std::move(entries[i].state);
    groups_[i].update_count = entries[i].update_count;
    groups_[i].index_offset = entries[i].index_offset;
    groups_[i].synced = AnyState();
  }
  synced_ = false;
  invalidate_value();
}

std::string Accumulation::serialize() const {
  return write_checkpoint(entries());
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

absl::Status Accumulation::deserialize(std::string_view bytes) {
  std::vector<CheckpointEntry> entries = empty_entries();
  const absl::Status status =
      read_checkpoint(bytes, entries, [&](const CheckpointOrigin& of_file) {
        return check_own(of_file, origin());
      });
  if (status.ok()) take_entries(std::move(entries));
  return status;
}

absl::Status Accumulation::deserialize_parts(std::string_view bytes,
                                             CheckpointGaps& gaps) {
  std::vector<CheckpointEntry> entries = empty_entries();
  const absl::Status status = read_checkpoint_parts(
      bytes, entries, gaps, [&](const CheckpointOrigin& of_file) {
        return check_own(of_file, origin());
      });
  if (status.ok()) take_entries(std::move(entries));
  return status;
}

}  // namespace tally::internal
