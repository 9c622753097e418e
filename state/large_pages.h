#pragma once

#include <cstddef>

namespace tally::internal {

/// The size of a large page.
inline constexpr std::size_t kLargePage = std::size_t{1} << 21;

/// Uninitialized memory in large pages, where the kernel has them: a first
/// access to each of the small ones takes longer than most loops need for what
/// lies in it. What would fill less than half of the last one is in small ones.
/// Null if there is no memory; to be released by std::free().
void* allocate_large_pages(std::size_t bytes);

}  // namespace tally::internal
