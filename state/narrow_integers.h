#pragma once

#include <c10/util/FunctionRef.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tally::internal {

/// Integers of a block.
inline constexpr std::int64_t kNarrowBlock = 64;

/// Appends integers as blocks, each with elements of 0, 1, 2, 4 or 8 bytes, the
/// fewest that hold them: first a byte with that width for each block, then the
/// blocks. Negative ones take 8. Calls `written`, if there is one, with how
/// many of the bytes are final.
void append_narrow(std::string& bytes, const std::int64_t* data,
                   std::int64_t size,
                   c10::function_ref<void(std::size_t end)> written);

/// Where the integers that append_narrow wrote are.
struct NarrowIntegers {
  /// Bytes of `widths`.
  std::size_t blocks() const;
  /// Bytes of `data`. Throws c10::ValueError if a width is not one of the
  /// above.
  std::size_t bytes() const;
  /// Writes `size` integers, with widths that bytes() has checked.
  void read(std::int64_t* to) const;

  std::int64_t size = 0;
  const char* widths = nullptr;
  const char* data = nullptr;
};

}  // namespace tally::internal
