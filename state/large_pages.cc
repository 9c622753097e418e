#include "tally/state/large_pages.h"

#include <algorithm>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tally::internal {

void* allocate_large_pages(std::size_t bytes) {
  // Half of one that is not used costs less than so many small ones.
  const std::size_t in_large =
      (bytes + kLargePage / 2) / kLargePage * kLargePage;
  void* memory = nullptr;
  if (posix_memalign(&memory, kLargePage, std::max(bytes, in_large)) != 0) {
    return nullptr;
  }
#if defined(__linux__)
  madvise(memory, in_large, MADV_HUGEPAGE);
#endif
  return memory;
}

}  // namespace tally::internal
