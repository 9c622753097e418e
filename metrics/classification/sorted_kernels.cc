#include "tally/metrics/classification/sorted_kernels.h"

#include <algorithm>
#include <cstdint>

// Two vector targets beside the baseline: more would only cost compile time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/classification/sorted_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
ScoreOrder order_of_some(const T* scores, std::int64_t size) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // So many vectors are looked at before it may end.
  constexpr std::int64_t kVectors = 8;
  // No pair would tell of a single NaN.
  const bool fine = size == 0 || scores[0] == scores[0];
  ScoreOrder order{fine, fine};
  std::int64_t i = 0;
  for (; order.any() && i + kVectors * lanes < size; i += kVectors * lanes) {
    const auto none = hn::IsNaN(hn::Zero(d));
    auto rising = hn::Not(none);
    auto falling = hn::Not(none);
    for (std::int64_t k = i; k < i + kVectors * lanes; k += lanes) {
      const auto score = hn::LoadU(d, scores + k);
      const auto next = hn::LoadU(d, scores + k + 1);
      rising = hn::And(rising, hn::Le(score, next));
      falling = hn::And(falling, hn::Ge(score, next));
    }
    order.rising &= hn::AllTrue(d, rising);
    order.falling &= hn::AllTrue(d, falling);
  }
  for (; order.any() && i + 1 < size; ++i) {
    order.rising &= scores[i] <= scores[i + 1];
    order.falling &= scores[i] >= scores[i + 1];
  }
  return order;
}

ScoreOrder OrderOfFloats(const float* scores, std::int64_t size) {
  return order_of_some(scores, size);
}
ScoreOrder OrderOfDoubles(const double* scores, std::int64_t size) {
  return order_of_some(scores, size);
}

// The first of `size` keys, from `i` on, that is larger than the next one; the
// last if none is.
template <class Key>
std::int64_t first_fall(const Key* keys, std::int64_t size, std::int64_t i) {
  const hn::ScalableTag<Key> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes < size; i += lanes) {
    const auto falls =
        hn::Gt(hn::LoadU(d, keys + i), hn::LoadU(d, keys + i + 1));
    if (!hn::AllFalse(d, falls)) return i + hn::FindFirstTrue(d, falls);
  }
  while (i + 1 < size && keys[i] <= keys[i + 1]) ++i;
  return i;
}

template <class Key>
void sort_some_equal_scores(Key* keys, std::int64_t size) {
  const hn::ScalableTag<Key> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t end = 0;
  while (true) {
    const std::int64_t fall = first_fall(keys, size, end);
    if (fall + 1 >= size) return;
    const Key score = keys[fall] >> 1;
    std::int64_t begin = fall;
    while (begin > end && keys[begin - 1] >> 1 == score) --begin;
    std::int64_t positives = 0;
    end = begin;
    for (; end + lanes <= size; end += lanes) {
      const auto key = hn::LoadU(d, keys + end);
      if (!hn::AllTrue(d, hn::Eq(hn::ShiftRight<1>(key), hn::Set(d, score)))) {
        break;
      }
      positives += hn::CountTrue(d, hn::TestBit(key, hn::Set(d, Key{1})));
    }
    for (; end < size && keys[end] >> 1 == score; ++end) {
      positives += keys[end] & 1;
    }
    const auto fill = [&](std::int64_t i, std::int64_t last, Key key) {
      for (; i + lanes <= last; i += lanes) {
        hn::StoreU(hn::Set(d, key), d, keys + i);
      }
      for (; i < last; ++i) keys[i] = key;
    };
    fill(begin, end - positives, score << 1);
    fill(end - positives, end, score << 1 | 1);
  }
}

void SortEqualScores32(std::uint32_t* keys, std::int64_t size) {
  sort_some_equal_scores(keys, size);
}
void SortEqualScores64(std::uint64_t* keys, std::int64_t size) {
  sort_some_equal_scores(keys, size);
}

// Sees keys as bits, 64 of them in a word.
class InOrderCounter {
 public:
  // Bits for positives, and for the first of each group of equal scores.
  void add(std::uint64_t positive, std::uint64_t first) {
    const auto count = static_cast<std::int64_t>(hwy::PopCount(positive));
    counts_.positives += count;
    places_ += static_cast<std::uint64_t>(base_ * count) + places_in(positive);
    if (negatives_ != 0 && first != 0) close(base_ + lowest(first));
    // A group's first positive, if negatives are before it.
    for (std::uint64_t both = positive & ~first & ~(positive << 1 | last_);
         both != 0; both &= both - 1) {
      const int bit = lowest(both);
      const std::uint64_t before = first & ((std::uint64_t{1} << bit) - 1);
      const std::uint64_t behind = first & (~std::uint64_t{1} << bit);
      negatives_ =
          base_ + bit - (before != 0 ? base_ + highest(before) : first_);
      place_ = base_ + bit;
      if (behind != 0) close(base_ + lowest(behind));
    }
    if (first != 0) first_ = base_ + highest(first);
    last_ = positive >> 63;
    base_ += 64;
  }

  // Of `size` keys.
  PairsInOrder finish(std::int64_t size) {
    if (negatives_ != 0) close(size);
    const auto positives = static_cast<std::uint64_t>(counts_.positives);
    // Below the k-th positive are all but k of the keys before it.
    counts_.twice = 2 * places_ - positives * (positives - 1) - tied_pairs_;
    return counts_;
  }

 private:
  static int lowest(std::uint64_t bits) {
    return static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
  }
  static int highest(std::uint64_t bits) {
    return 63 - static_cast<int>(hwy::Num0BitsAboveMS1Bit_Nonzero64(bits));
  }
  // The sum of the places of all bits.
  static std::uint64_t places_in(std::uint64_t bits) {
    constexpr std::uint64_t kDigits[] = {
        0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0,
        0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000};
    std::uint64_t sum = 0;
    for (int k = 0; k < 6; ++k) sum += hwy::PopCount(bits & kDigits[k]) << k;
    return sum;
  }
  // The group that has both ends here.
  void close(std::int64_t end) {
    tied_pairs_ += static_cast<std::uint64_t>(negatives_ * (end - place_));
    negatives_ = 0;
  }

  PairsInOrder counts_;
  std::uint64_t places_ = 0;  // the sum of those of positives
  std::uint64_t tied_pairs_ = 0;
  std::int64_t base_ = 0;
  std::int64_t first_ = 0;  // of the current group
  // Of the current group, if it has both; of these the first positive's place.
  std::int64_t negatives_ = 0;
  std::int64_t place_ = 0;
  std::uint64_t last_ = 0;
};

// Puts one bit of each of `count` bytes, a multiple of 64, into words.
void gather_bits(const std::uint8_t* bytes, std::int64_t count,
                 std::uint8_t bit, std::uint64_t* words) {
  const hn::ScalableTag<std::uint8_t> d;
  if constexpr (hn::MaxLanes(d) < 8) {
    std::fill_n(words, count / 64, 0);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t is_set = (bytes[i] & bit) != 0 ? 1 : 0;
      words[i / 64] |= is_set << (i % 64);
    }
  } else {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto* const to = reinterpret_cast<std::uint8_t*>(words);
    for (std::int64_t i = 0; i < count; i += lanes) {
      const auto set = hn::TestBit(hn::Load(d, bytes + i), hn::Set(d, bit));
      hn::StoreMaskBits(d, set, to + i / 8);
    }
  }
}

template <class Key>
PairsInOrder count_some_pairs_in_order(const Key* keys, std::int64_t size) {
  const hn::ScalableTag<Key> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr std::int64_t kKeys = 2048;
  constexpr std::uint8_t kPositive = 1;
  constexpr std::uint8_t kFirst = 2;
  HWY_ALIGN std::uint8_t flags[kKeys];
  HWY_ALIGN std::uint64_t positive[kKeys / 64];
  HWY_ALIGN std::uint64_t first[kKeys / 64];
  InOrderCounter counter;
  for (std::int64_t begin = 0; begin < size; begin += kKeys) {
    const std::int64_t count = std::min(kKeys, size - begin);
    const std::int64_t whole = (count + 63) / 64 * 64;
    std::int64_t i = 0;
    const auto flag_one = [&] {
      const std::int64_t k = begin + i;
      const bool is_first = k == 0 || keys[k] >> 1 != keys[k - 1] >> 1;
      flags[i] = static_cast<std::uint8_t>(keys[k] & 1) |
                 (is_first ? kFirst : std::uint8_t{0});
      ++i;
    };
    if (begin == 0) flag_one();
    for (; i + lanes <= count; i += lanes) {
      const auto key = hn::LoadU(d, keys + begin + i);
      const auto before = hn::LoadU(d, keys + begin + i - 1);
      const auto is_first =
          hn::Ne(hn::ShiftRight<1>(key), hn::ShiftRight<1>(before));
      const auto flag =
          hn::Or(hn::And(key, hn::Set(d, Key{kPositive})),
                 hn::IfThenElseZero(is_first, hn::Set(d, Key{kFirst})));
      hn::StoreU(hn::TruncateTo(d8, flag), d8, flags + i);
    }
    while (i < count) flag_one();
    // Groups end where there are no more keys.
    std::fill(flags + count, flags + whole, kFirst);
    gather_bits(flags, whole, kPositive, positive);
    gather_bits(flags, whole, kFirst, first);
    for (i = 0; i < whole / 64; ++i) counter.add(positive[i], first[i]);
  }
  return counter.finish(size);
}

PairsInOrder CountPairsInOrder32(const std::uint32_t* keys, std::int64_t size) {
  return count_some_pairs_in_order(keys, size);
}
PairsInOrder CountPairsInOrder64(const std::uint64_t* keys, std::int64_t size) {
  return count_some_pairs_in_order(keys, size);
}

}  // namespace tally::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal {

HWY_EXPORT(OrderOfFloats);
HWY_EXPORT(OrderOfDoubles);
HWY_EXPORT(SortEqualScores32);
HWY_EXPORT(SortEqualScores64);
HWY_EXPORT(CountPairsInOrder32);
HWY_EXPORT(CountPairsInOrder64);

ScoreOrder order_of(const float* scores, std::int64_t size) {
  return HWY_DYNAMIC_DISPATCH(OrderOfFloats)(scores, size);
}
ScoreOrder order_of(const double* scores, std::int64_t size) {
  return HWY_DYNAMIC_DISPATCH(OrderOfDoubles)(scores, size);
}

void sort_equal_scores(std::uint32_t* keys, std::int64_t size) {
  HWY_DYNAMIC_DISPATCH(SortEqualScores32)(keys, size);
}
void sort_equal_scores(std::uint64_t* keys, std::int64_t size) {
  HWY_DYNAMIC_DISPATCH(SortEqualScores64)(keys, size);
}

PairsInOrder count_pairs_in_order(const std::uint32_t* keys,
                                  std::int64_t size) {
  return HWY_DYNAMIC_DISPATCH(CountPairsInOrder32)(keys, size);
}
PairsInOrder count_pairs_in_order(const std::uint64_t* keys,
                                  std::int64_t size) {
  return HWY_DYNAMIC_DISPATCH(CountPairsInOrder64)(keys, size);
}

}  // namespace tally::internal
#endif  // HWY_ONCE
