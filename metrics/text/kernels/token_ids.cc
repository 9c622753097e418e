#include "tally/metrics/text/kernels/token_ids.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace tally::internal::text {

std::uint32_t TokenIds::id(std::string_view token) {
  if (2 * (tokens_.size() + 1) > slots_.size()) grow();
  const std::uint64_t hash = XXH3_64bits(token.data(), token.size());
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].generation == generation_; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && tokens_[slots_[at].id] == token) {
      return slots_[at].id;
    }
  }
  const auto id = static_cast<std::uint32_t>(tokens_.size());
  tokens_.push_back(token);
  slots_[at] = {generation_, id, hash};
  return id;
}

void TokenIds::clear() {
  tokens_.clear();
  if (++generation_ == 0) {
    std::fill(slots_.begin(), slots_.end(), Slot());
    generation_ = 1;
  }
}

void TokenIds::grow() {
  std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.generation != generation_) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].generation == generation_) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace tally::internal::text
