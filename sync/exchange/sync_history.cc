#include "tally/sync/exchange/sync_history.h"

#include <algorithm>

namespace tally::sync::internal {

SyncHistory::Entry* SyncHistory::find(
    const std::shared_ptr<Communicator>& communicator) {
  // Weak: a later communicator at the same address is another one.
  for (Entry& entry : entries_) {
    if (!entry.first.owner_before(communicator) &&
        !communicator.owner_before(entry.first)) {
      return &entry;
    }
  }
  return nullptr;
}

std::uint32_t SyncHistory::uses(
    const std::shared_ptr<Communicator>& communicator) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const Entry* const entry = find(communicator)) return entry->second;
  entries_.erase(
      std::remove_if(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.first.expired(); }),
      entries_.end());
  entries_.emplace_back(communicator, 0);
  return 0;
}

void SyncHistory::set_uses(const std::shared_ptr<Communicator>& communicator,
                           std::uint32_t uses) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Entry* const entry = find(communicator)) entry->second = uses;
}

}  // namespace tally::sync::internal
