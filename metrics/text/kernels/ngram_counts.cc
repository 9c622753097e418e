#include "tally/metrics/text/kernels/ngram_counts.h"

#include <algorithm>
#include <utility>

namespace tally::internal::text {

void NgramCounts::clear() {
  nodes_.resize(1);
  references_ = 0;
  if (++epoch_ == 0) {
    for (Slot& slot : slots_) slot.epoch = 0;
    epoch_ = 1;
  }
}

std::size_t NgramCounts::place(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::uint64_t hash = key * 0x9e3779b97f4a7c15;
  hash ^= hash >> 32;
  std::size_t i = hash & mask;
  while (slots_[i].epoch == epoch_ && slots_[i].key != key) i = (i + 1) & mask;
  return i;
}

void NgramCounts::reserve(std::size_t nodes) {
  if (2 * nodes <= slots_.size()) return;
  std::size_t size = slots_.size();
  while (size < 2 * nodes) size *= 2;
  std::vector<Slot> old(size);
  std::swap(old, slots_);
  for (const Slot& slot : old) {
    if (slot.epoch == epoch_) slots_[place(slot.key)] = slot;
  }
}

void NgramCounts::add_reference(Symbols symbols, std::int64_t orders) {
  ++references_;
  prefixes_.assign(symbols.size(), 0);
  for (std::int64_t n = 1; n <= orders; ++n) {
    const auto end = static_cast<std::size_t>(count(symbols.size(), n));
    if (end == 0) break;
    reserve(nodes_.size() + end);
    const std::uint32_t* const last = symbols.data() + n - 1;
    for (std::size_t i = 0; i < end; ++i) {
      const std::uint64_t key = key_of(prefixes_[i], last[i]);
      Slot& slot = slots_[place(key)];
      if (slot.epoch != epoch_) {
        slot = {key, epoch_, static_cast<std::uint32_t>(nodes_.size())};
        nodes_.emplace_back();
      }
      prefixes_[i] = slot.node;
      Node& node = nodes_[slot.node];
      if (node.reference != references_) {
        node.reference = references_;
        node.current = 0;
      }
      node.most = std::max(node.most, ++node.current);
    }
  }
}

void NgramCounts::match(Symbols symbols, std::int64_t orders,
                        std::int64_t* matches) {
  prefixes_.assign(symbols.size(), 0);
  for (std::int64_t n = 1; n <= orders; ++n) {
    const auto end = static_cast<std::size_t>(count(symbols.size(), n));
    if (end == 0) break;
    const std::uint32_t* const last = symbols.data() + n - 1;
    std::int64_t found = 0;
    for (std::size_t i = 0; i < end; ++i) {
      if (prefixes_[i] == kNone) continue;
      const Slot& slot = slots_[place(key_of(prefixes_[i], last[i]))];
      if (slot.epoch != epoch_) {
        prefixes_[i] = kNone;
        continue;
      }
      prefixes_[i] = slot.node;
      std::uint32_t& left = nodes_[slot.node].most;
      if (left > 0) {
        --left;
        ++found;
      }
    }
    matches[n - 1] += found;
  }
}

}  // namespace tally::internal::text
