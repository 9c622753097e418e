#pragma once

#include <array>
#include <cstdint>

namespace tally::internal::intervals {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53;
inline constexpr std::uint32_t kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9;
inline constexpr std::uint32_t kPhiloxWeyl1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): four random words for
/// each counter and key.
inline PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kPhiloxMultiplier0} * counter[0];
    const std::uint64_t b = std::uint64_t{kPhiloxMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(a)};
    key[0] += kPhiloxWeyl0;
    key[1] += kPhiloxWeyl1;
  }
  return counter;
}

/// The cumulative probabilities of Poisson(1) in 1/65536: as many as 16 random
/// bits reach are a weight.
inline constexpr std::uint32_t kPoissonThresholds[] = {
    24109, 48219, 60273, 64292, 65296, 65497, 65531, 65535};

/// What random numbers are for: the second word of the counter.
enum class PhiloxStream : std::uint32_t {
  kPoisson = 0,
  kDoubleOrNothing = 1,
  kBlocks = 2,
  kCells = 3,
  kDigest = 4,
};

/// The numbers of one id in a stream: the counter is (block, stream, low half
/// of the id, high half), the key the seed's halves.
class PhiloxNumbers {
 public:
  PhiloxNumbers(std::int64_t seed, PhiloxStream stream)
      : PhiloxNumbers(PhiloxKey{low(seed), high(seed)}, stream) {}
  PhiloxNumbers(PhiloxKey key, PhiloxStream stream)
      : key_(key), stream_(static_cast<std::uint32_t>(stream)) {}

  PhiloxCounter operator()(std::uint32_t block, std::int64_t id) const {
    return philox({block, stream_, low(id), high(id)}, key_);
  }

  const PhiloxKey& key() const { return key_; }

 private:
  static std::uint32_t low(std::int64_t value) {
    return static_cast<std::uint32_t>(value);
  }
  static std::uint32_t high(std::int64_t value) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32);
  }

  PhiloxKey key_;
  std::uint32_t stream_;
};

/// The block of a row in a jackknife: the first two words of its id, the first
/// one low, modulo `blocks`.
inline std::int64_t block_of(std::int64_t seed, std::int64_t id,
                             std::int64_t blocks) {
  const auto words = PhiloxNumbers(seed, PhiloxStream::kBlocks)(0, id);
  const std::uint64_t number = words[0] | std::uint64_t{words[1]} << 32;
  return static_cast<std::int64_t>(number % static_cast<std::uint64_t>(blocks));
}

}  // namespace tally::internal::intervals
