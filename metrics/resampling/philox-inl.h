// Philox4x32-10 of several counters, compiled once per vector target: include
// after <hwy/foreach_target.h>.

#include <hwy/highway.h>

#include <cstdint>
#include <utility>

#include "tally/metrics/resampling/philox.h"

#if defined(TALLY_METRICS_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TALLY_METRICS_PHILOX_INL_H_
#undef TALLY_METRICS_PHILOX_INL_H_
#else
#define TALLY_METRICS_PHILOX_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tally::internal::intervals::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

using Word = hn::ScalableTag<std::uint32_t>;
using WordVector = hn::Vec<Word>;

// The words of a block of an id.
HWY_INLINE void words_of_ids(PhiloxKey key, PhiloxStream stream,
                             std::uint32_t block, const std::int64_t* ids,
                             WordVector* words) {
  const PhiloxCounter own = PhiloxNumbers(key, stream)(block, *ids);
  for (int i = 0; i < 4; ++i) words[i] = hn::Set(Word(), own[i]);
}

#else

using Wide = hn::ScalableTag<std::uint64_t>;
using Word = hn::Repartition<std::uint32_t, Wide>;
using WideVector = hn::Vec<Wide>;
using WordVector = hn::Vec<Word>;

HWY_INLINE WideVector product(const WideVector a, const WordVector factor) {
  return hn::MulEven(hn::BitCast(Word(), a), factor);
}

// A word is in the low half of each lane; high halves mean nothing.
HWY_INLINE void philox_round(std::uint32_t key0, std::uint32_t key1,
                             WideVector* words) {
  const Wide d;
  const WideVector a = product(words[0], hn::Set(Word(), kPhiloxMultiplier0));
  const WideVector b = product(words[2], hn::Set(Word(), kPhiloxMultiplier1));
  words[0] = hn::Xor3(hn::ShiftRight<32>(b), words[1],
                      hn::Set(d, std::uint64_t{key0}));
  words[1] = b;
  words[2] = hn::Xor3(hn::ShiftRight<32>(a), words[3],
                      hn::Set(d, std::uint64_t{key1}));
  words[3] = a;
}

// Unrolled, so that keys stay in vectors.
template <std::uint32_t... kRounds>
HWY_INLINE void philox_rounds(
    PhiloxKey key, WideVector* even, WideVector* odd,
    std::integer_sequence<std::uint32_t, kRounds...>) {
  const auto both = [&](std::uint32_t round) HWY_ATTR {
    const std::uint32_t key0 = key[0] + round * kPhiloxWeyl0;
    const std::uint32_t key1 = key[1] + round * kPhiloxWeyl1;
    philox_round(key0, key1, even);
    philox_round(key0, key1, odd);
  };
  (both(kRounds), ...);
}

// The words of lane i in `even` become those of lane 2i, in `odd` of 2i + 1.
HWY_INLINE void philox_pair(PhiloxKey key, WideVector* even, WideVector* odd,
                            WordVector* words) {
  const Word d;
  philox_rounds(key, even, odd,
                std::make_integer_sequence<std::uint32_t, kPhiloxRounds>());
  for (int i = 0; i < 4; ++i) {
    words[i] = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd[i])),
                           hn::BitCast(d, even[i]));
  }
}

// The words of a block of ids, one id for each lane.
HWY_INLINE void words_of_ids(PhiloxKey key, PhiloxStream stream,
                             std::uint32_t block, const std::int64_t* ids,
                             WordVector* words) {
  const Wide d;
  WideVector first, second;
  hn::LoadInterleaved2(d, reinterpret_cast<const std::uint64_t*>(ids), first,
                       second);
  const auto blocks = hn::Set(d, std::uint64_t{block});
  const auto streams = hn::Set(d, static_cast<std::uint64_t>(stream));
  WideVector even[4] = {blocks, streams, first, hn::ShiftRight<32>(first)};
  WideVector odd[4] = {blocks, streams, second, hn::ShiftRight<32>(second)};
  philox_pair(key, even, odd, words);
}

// The words of an id's blocks from `block` on, one block for each lane.
HWY_INLINE void words_of_blocks(PhiloxKey key, PhiloxStream stream,
                                std::uint32_t block, std::int64_t id,
                                WordVector* words) {
  const Wide d;
  const auto number = static_cast<std::uint64_t>(id);
  const auto blocks = hn::Add(hn::Set(d, std::uint64_t{block}),
                              hn::ShiftLeft<1>(hn::Iota(d, 0)));
  const auto streams = hn::Set(d, static_cast<std::uint64_t>(stream));
  const auto low = hn::Set(d, number);
  const auto high = hn::Set(d, number >> 32);
  WideVector even[4] = {blocks, streams, low, high};
  WideVector odd[4] = {hn::Add(blocks, hn::Set(d, std::uint64_t{1})), streams,
                       low, high};
  philox_pair(key, even, odd, words);
}

#endif  // HWY_TARGET == HWY_SCALAR

HWY_INLINE std::int64_t word_lanes() {
  return static_cast<std::int64_t>(hn::Lanes(Word()));
}

}  // namespace tally::internal::intervals::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TALLY_METRICS_PHILOX_INL_H_
