#include "tally/metrics/intervals/kernels/weight_kernels.h"

#include <cstring>

// Two vector targets beside the baseline: more would only cost compile time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/intervals/kernels/weight_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::intervals::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kPerBlock = 8;

#if HWY_TARGET == HWY_SCALAR

void PoissonWeights(PhiloxKey key, std::uint32_t stream, std::int64_t id,
                    std::int64_t blocks, std::uint8_t* weights) {
  const auto number = static_cast<std::uint64_t>(id);
  for (std::int64_t block = 0; block < blocks; ++block) {
    poisson_block(philox({static_cast<std::uint32_t>(block), stream,
                          static_cast<std::uint32_t>(number),
                          static_cast<std::uint32_t>(number >> 32)},
                         key),
                  weights + kPerBlock * block);
  }
}

#else

// The low and high halves of the lanes' products.
template <class V>
void multiply(V a, V b, V& low, V& high) {
  const hn::DFromV<V> d;
  const hn::RepartitionToWide<decltype(d)> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd =
      hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  low =
      hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
  high = hn::OddEven(hn::BitCast(d, odd),
                     hn::BitCast(d, hn::ShiftRight<32>(even)));
}

// Philox of a block for each lane.
template <class V>
void rounds(V* words, PhiloxKey key) {
  const hn::DFromV<V> d;
  const auto first = hn::Set(d, 0xD2511F53u);
  const auto second = hn::Set(d, 0xCD9E8D57u);
  for (int round = 0; round < 10; ++round) {
    V low0, high0, low1, high1;
    multiply(words[0], first, low0, high0);
    multiply(words[2], second, low1, high1);
    words[0] = hn::Xor(hn::Xor(high1, words[1]), hn::Set(d, key[0]));
    words[1] = low1;
    words[2] = hn::Xor(hn::Xor(high0, words[3]), hn::Set(d, key[1]));
    words[3] = low0;
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
}

// The Poisson weights of both halves of each lane, in its two low bytes.
template <class V>
V weights_of(V words) {
  const hn::DFromV<V> d;
  const hn::Repartition<std::int16_t, decltype(d)> halves;
  // Thresholds are compared as signed numbers.
  const auto sign = hn::Set(halves, static_cast<std::int16_t>(-0x8000));
  const auto bits = hn::Xor(hn::BitCast(halves, words), sign);
  auto weights = hn::Zero(halves);
  for (const std::uint32_t threshold : kPoissonThresholds) {
    const auto below = static_cast<std::int16_t>(
        static_cast<std::int32_t>(threshold) - 1 - 0x8000);
    // A mask is -1.
    weights = hn::Sub(
        weights, hn::VecFromMask(halves, hn::Gt(bits, hn::Set(halves, below))));
  }
  const auto pairs = hn::BitCast(d, weights);
  return hn::And(hn::Or(pairs, hn::ShiftRight<8>(pairs)), hn::Set(d, 0xffffu));
}

void PoissonWeights(PhiloxKey key, std::uint32_t stream, std::int64_t id,
                    std::int64_t blocks, std::uint8_t* weights) {
  const hn::ScalableTag<std::uint32_t> d;
  using V = hn::VFromD<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::uint32_t buffer[2 * hn::MaxLanes(d)];
  for (std::int64_t block = 0; block < blocks; block += lanes) {
    V words[4] = {hn::Iota(d, static_cast<std::uint32_t>(block)),
                  hn::Set(d, stream),
                  hn::Set(d, static_cast<std::uint32_t>(id)),
                  hn::Set(d, static_cast<std::uint32_t>(
                                 static_cast<std::uint64_t>(id) >> 32))};
    rounds(words, key);
    const auto low =
        hn::Or(weights_of(words[0]), hn::ShiftLeft<16>(weights_of(words[1])));
    const auto high =
        hn::Or(weights_of(words[2]), hn::ShiftLeft<16>(weights_of(words[3])));
    hn::StoreInterleaved2(low, high, d, buffer);
    const std::int64_t count = blocks - block < lanes ? blocks - block : lanes;
    std::memcpy(weights + kPerBlock * block, buffer,
                static_cast<std::size_t>(kPerBlock * count));
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

void AddWeights(const std::uint8_t* weights, std::int64_t count, double factor,
                double* sums) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factors = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto some =
        hn::PromoteTo(d, hn::PromoteTo(di, hn::LoadU(d8, weights + i)));
    // Not fused, so that sums are the same on any processor.
    hn::StoreU(hn::Add(hn::LoadU(d, sums + i), hn::Mul(some, factors)), d,
               sums + i);
  }
  for (; i < count; ++i) sums[i] += factor * weights[i];
}

}  // namespace tally::internal::intervals::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::intervals {

HWY_EXPORT(PoissonWeights);
HWY_EXPORT(AddWeights);

void poisson_weights(PhiloxKey key, PhiloxStream stream, std::int64_t id,
                     std::int64_t blocks, std::uint8_t* weights) {
  HWY_DYNAMIC_DISPATCH(PoissonWeights)
  (key, static_cast<std::uint32_t>(stream), id, blocks, weights);
}

void add_weights(const std::uint8_t* weights, std::int64_t count, double factor,
                 double* sums) {
  HWY_DYNAMIC_DISPATCH(AddWeights)(weights, count, factor, sums);
}

}  // namespace tally::internal::intervals
#endif  // HWY_ONCE
