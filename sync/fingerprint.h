#pragma once

#include <cstdint>
#include <string_view>

namespace tally::sync {

/// A 64-bit hash (xxHash64), the same on every machine.
std::uint64_t fingerprint(std::string_view text) noexcept;

}  // namespace tally::sync
