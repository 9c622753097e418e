#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tally::internal {

/// A reflected cyclic redundancy check of 32 bits: the polynomial, reversed.
inline constexpr std::uint32_t kCrc32 = 0xedb88320;   // zlib's, PNG's
inline constexpr std::uint32_t kCrc32c = 0x82f63b78;  // Castagnoli's

template <std::uint32_t kPolynomial>
std::uint32_t checksum(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
      }
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t value = 0xffffffff;
  for (const char c : bytes) {
    value =
        kTable[(value ^ static_cast<std::uint8_t>(c)) & 0xff] ^ (value >> 8);
  }
  return ~value;
}

}  // namespace tally::internal
