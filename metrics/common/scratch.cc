#include "tally/metrics/common/scratch.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "tally/state/large_pages.h"

namespace tally::internal::classification {
namespace {

// ScratchBlocks that wait for the next pass; those given back last come first.
class Kept {
 public:
  ScratchBlock take(std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ScratchBlock* best = nullptr;
    for (ScratchBlock& block : blocks_) {
      if (block.bytes >= bytes && (!best || block.bytes < best->bytes)) {
        best = &block;
      }
    }
    return best ? std::exchange(*best, ScratchBlock()) : ScratchBlock();
  }

  void keep(ScratchBlock block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::rotate(blocks_.begin(), blocks_.end() - 1, blocks_.end());
    std::swap(blocks_.front(), block);
    std::free(block.memory);
    std::size_t sum = 0;
    for (ScratchBlock& kept : blocks_) {
      sum += kept.bytes;
      if (sum <= ScratchBlock::kMostKept) continue;
      sum -= kept.bytes;
      std::free(std::exchange(kept, ScratchBlock()).memory);
    }
  }

  std::size_t bytes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::size_t sum = 0;
    for (const ScratchBlock& block : blocks_) sum += block.bytes;
    return sum;
  }

 private:
  std::mutex mutex_;
  std::array<ScratchBlock, 8> blocks_;
};

// Never destroyed: others may still use it when the program ends.
Kept& kept_blocks() {
  static Kept& kept = *new Kept;
  return kept;
}

}  // namespace

ScratchBlock ScratchBlock::take(std::size_t bytes) {
  ScratchBlock block;
  if (bytes < kLargePage) {
    block = {std::malloc(std::max<std::size_t>(bytes, 1)), bytes};
  } else {
    block = kept_blocks().take(bytes);
    if (block.memory != nullptr) return block;
    block.bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
    block.memory = allocate_large_pages(block.bytes);
  }
  if (block.memory == nullptr) throw std::bad_alloc();
  return block;
}

void ScratchBlock::give_back(ScratchBlock block) noexcept {
  if (block.bytes < kLargePage || block.bytes > kMostKept) {
    std::free(block.memory);
    return;
  }
#if defined(__linux__)
  madvise(block.memory, block.bytes, MADV_FREE);
#endif
  kept_blocks().keep(block);
}

std::size_t ScratchBlock::kept() { return kept_blocks().bytes(); }

}  // namespace tally::internal::classification
