#pragma once

#include <cstdint>

namespace tally::internal {

/// 2^64 by the golden ratio: the high bits of its multiples spread evenly.
inline constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15u;

/// A bijection of 64 bits that looks random: what SplitMix64 returns in this
/// state, from which it goes on with the state `bits + kGoldenRatio`.
inline std::uint64_t mixed(std::uint64_t bits) {
  bits += kGoldenRatio;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

}  // namespace tally::internal
