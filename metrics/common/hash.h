#pragma once

#include <cstdint>

namespace tally::internal::features {

/// A bijection of 64 bits that looks random (the finalizer of splitmix64).
inline std::uint64_t mixed(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

}  // namespace tally::internal::features
