#pragma once

#include <cstdint>

/// What is around the states of a checkpoint.
namespace tally::internal {

inline constexpr char kMagic[8] = {'T', 'A', 'L', 'L', 'Y', 'S', 'T', '\n'};
inline constexpr std::int64_t kVersion = 1;
inline constexpr std::int64_t kVersionWithOrigin = 2;
inline constexpr std::int64_t kVersionWithKeys = 3;
inline constexpr std::int64_t kVersionWithHead = 4;

struct Envelope {
  char magic[8];
  std::int64_t version;
  std::int64_t length;     // of what follows
  std::uint64_t checksum;  // of what follows
};

}  // namespace tally::internal
