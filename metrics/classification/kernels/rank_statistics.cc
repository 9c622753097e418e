#include "tally/metrics/classification/kernels/rank_statistics.h"

#include <algorithm>
#include <cstdint>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/classification/kernels/rank_statistics.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE int lowest(std::uint64_t bits) {
  return static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
}
HWY_INLINE int highest(std::uint64_t bits) {
  return 63 - static_cast<int>(hwy::Num0BitsAboveMS1Bit_Nonzero64(bits));
}

// Puts one bit of each of `count` bytes, a multiple of 64, into words.
HWY_INLINE void gather_bits(const std::uint8_t* bytes, std::int64_t count,
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

// So many keys are looked at as bits, 64 of them in a word.
constexpr std::int64_t kChunk = 2048;
constexpr std::int64_t kWords = kChunk / 64;

struct KeyBits {
  HWY_ALIGN std::uint64_t positive[kWords];
  HWY_ALIGN std::uint64_t first[kWords];  // of a group of equal scores
};

// Of kChunk keys from `begin` on, or as many as there are. Behind the last,
// there are groups of negatives. Returns the number of words.
template <class Key>
HWY_INLINE std::int64_t read_bits(const Key* keys, std::int64_t begin,
                                  std::int64_t size, KeyBits& bits) {
  const hn::ScalableTag<Key> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr std::uint8_t kPositive = 1;
  constexpr std::uint8_t kFirst = 2;
  HWY_ALIGN std::uint8_t flags[kChunk];
  const std::int64_t count = std::min(kChunk, size - begin);
  const std::int64_t words = (count + 63) / 64;
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
  std::fill(flags + count, flags + 64 * words, kFirst);
  gather_bits(flags, 64 * words, kPositive, bits.positive);
  gather_bits(flags, 64 * words, kFirst, bits.first);
  return words;
}

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

template <class Key>
PairsInOrder count_some_pairs_in_order(const Key* keys, std::int64_t size) {
  InOrderCounter counter;
  KeyBits bits;
  for (std::int64_t begin = 0; begin < size; begin += kChunk) {
    const std::int64_t words = read_bits(keys, begin, size, bits);
    for (std::int64_t i = 0; i < words; ++i) {
      counter.add(bits.positive[i], bits.first[i]);
    }
  }
  return counter.finish(size);
}

PairsInOrder CountPairsInOrder32(const std::uint32_t* keys, std::int64_t size) {
  return count_some_pairs_in_order(keys, size);
}
PairsInOrder CountPairsInOrder64(const std::uint64_t* keys, std::int64_t size) {
  return count_some_pairs_in_order(keys, size);
}

template <class Key>
std::int64_t count_some_positives(const Key* keys, std::int64_t size) {
  const hn::ScalableTag<Key> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, Key{1});
  std::int64_t count = 0;
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    count += static_cast<std::int64_t>(
        hn::CountTrue(d, hn::TestBit(hn::LoadU(d, keys + i), one)));
  }
  for (; i < size; ++i) count += keys[i] & 1;
  return count;
}

std::int64_t CountPositives32(const std::uint32_t* keys, std::int64_t size) {
  return count_some_positives(keys, size);
}
std::int64_t CountPositives64(const std::uint64_t* keys, std::int64_t size) {
  return count_some_positives(keys, size);
}

// Goes through keys in blocks, by groups of equal scores where they are large.
template <class Key>
class PrecisionSum {
 public:
  PrecisionSum(const Key* keys, std::int64_t size, std::int64_t positives,
               std::int64_t all)
      : keys_(keys), size_(size), positives_(positives), all_(all) {}

  double sum() {
    KeyBits bits;
    for (std::int64_t begin = 0; begin < size_; begin += kChunk) {
      const std::int64_t words = read_bits(keys_, begin, size_, bits);
      std::int64_t groups = 0;
      for (std::int64_t i = 0; i < words; ++i) {
        groups += static_cast<std::int64_t>(hwy::PopCount(bits.first[i]));
      }
      if (kFew * groups < kChunk) {
        add_groups(begin, bits, words);
      } else {
        add_keys(begin, std::min(size_, begin + kChunk));
      }
    }
    return sum_;
  }

 private:
  // So many keys a group make it worth a look at each group.
  static constexpr std::int64_t kFew = 8;

  void add_groups(std::int64_t begin, const KeyBits& bits, std::int64_t words) {
    // Positives before the word, and before those that are not added yet.
    std::int64_t seen = seen_;
    std::int64_t added = seen_;
    const auto add_until = [&](std::int64_t end) {
      if (end == added) return;
      sum_ += static_cast<double>(end - added) *
              (static_cast<double>(positives_ - before_) /
               static_cast<double>(all_ - first_));
      added = end;
    };
    for (std::int64_t i = 0; i < words; ++i) {
      const std::uint64_t positive = bits.positive[i];
      for (std::uint64_t rest = bits.first[i]; rest != 0; rest &= rest - 1) {
        const int bit = lowest(rest);
        const std::uint64_t below = (std::uint64_t{1} << bit) - 1;
        const std::int64_t end =
            seen + static_cast<std::int64_t>(hwy::PopCount(positive & below));
        add_until(end);
        first_ = begin + 64 * i + bit;
        before_ = end;
      }
      seen += static_cast<std::int64_t>(hwy::PopCount(positive));
    }
    add_until(seen);
    seen_ = seen;
  }

  void add_keys(std::int64_t begin, std::int64_t end) {
    const hn::ScalableTag<double> d;
    const hn::RebindToSigned<decltype(d)> di;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    // Of each positive, how many positives and how many of all are at least as
    // high.
    constexpr std::int64_t kSpare = HWY_MAX_BYTES / sizeof(double);
    HWY_ALIGN std::int64_t positives[kChunk + kSpare];
    HWY_ALIGN std::int64_t all[kChunk + kSpare];
    std::int64_t count = 0;
    std::int64_t positives_here = positives_ - before_;
    std::int64_t all_here = all_ - first_;
    const std::int64_t positives_left = positives_ - seen_;
    Key last = begin == 0 ? ~keys_[0] >> 1 : keys_[begin - 1] >> 1;
    for (std::int64_t i = begin; i < end; ++i) {
      const Key key = keys_[i] >> 1;
      // Branches would be guessed wrong.
      const std::int64_t changes = -static_cast<std::int64_t>(key != last);
      last = key;
      positives_here += changes & (positives_left - count - positives_here);
      all_here += changes & (all_ - i - all_here);
      positives[count] = positives_here;
      all[count] = all_here;
      count += keys_[i] & 1;
    }
    before_ = positives_ - positives_here;
    first_ = all_ - all_here;
    seen_ += count;
    for (std::int64_t i = count; i < count + lanes; ++i) {
      positives[i] = 0;
      all[i] = 1;
    }
    auto sum = hn::Zero(d);
    for (std::int64_t i = 0; i < count; i += lanes) {
      sum = hn::Add(sum, hn::Div(hn::ConvertTo(d, hn::Load(di, positives + i)),
                                 hn::ConvertTo(d, hn::Load(di, all + i))));
    }
    sum_ += hn::GetLane(hn::SumOfLanes(d, sum));
  }

  const Key* keys_;
  std::int64_t size_;
  std::int64_t positives_;
  std::int64_t all_;
  double sum_ = 0;
  std::int64_t seen_ = 0;  // positives so far
  // Of the current group.
  std::int64_t first_ = 0;
  std::int64_t before_ = 0;  // positives
};

double SumPrecisions32(const std::uint32_t* keys, std::int64_t size,
                       std::int64_t positives, std::int64_t all) {
  return PrecisionSum<std::uint32_t>(keys, size, positives, all).sum();
}
double SumPrecisions64(const std::uint64_t* keys, std::int64_t size,
                       std::int64_t positives, std::int64_t all) {
  return PrecisionSum<std::uint64_t>(keys, size, positives, all).sum();
}

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::classification {
namespace {

// Whether all scores are equal, so that negatives come first.
template <class Key>
bool is_group(const Key* keys, std::int64_t size) {
  return size > 0 && keys[0] >> 1 == keys[size - 1] >> 1;
}

template <class Key>
std::int64_t positives_of_group(const Key* keys, std::int64_t size) {
  const Key* const end = keys + size;
  return end - std::partition_point(keys, end,
                                    [](Key key) { return (key & 1) == 0; });
}

template <class Key>
PairsInOrder pairs_of_group(const Key* keys, std::int64_t size) {
  const std::int64_t positives = positives_of_group(keys, size);
  return {static_cast<std::uint64_t>(positives * (size - positives)),
          positives};
}

template <class Key>
double precisions_of_group(const Key* keys, std::int64_t size,
                           std::int64_t positives, std::int64_t all) {
  return static_cast<double>(positives_of_group(keys, size)) *
         (static_cast<double>(positives) / static_cast<double>(all));
}

}  // namespace

HWY_EXPORT(CountPositives32);
HWY_EXPORT(CountPositives64);
HWY_EXPORT(CountPairsInOrder32);
HWY_EXPORT(CountPairsInOrder64);
HWY_EXPORT(SumPrecisions32);
HWY_EXPORT(SumPrecisions64);

std::int64_t count_unsorted_positives(const std::uint32_t* keys,
                                      std::int64_t size) {
  return HWY_DYNAMIC_DISPATCH(CountPositives32)(keys, size);
}
std::int64_t count_unsorted_positives(const std::uint64_t* keys,
                                      std::int64_t size) {
  return HWY_DYNAMIC_DISPATCH(CountPositives64)(keys, size);
}

std::int64_t count_positives(const std::uint32_t* keys, std::int64_t size) {
  if (is_group(keys, size)) return positives_of_group(keys, size);
  return count_unsorted_positives(keys, size);
}
PairsInOrder count_pairs_in_order(const std::uint32_t* keys,
                                  std::int64_t size) {
  if (is_group(keys, size)) return pairs_of_group(keys, size);
  return HWY_DYNAMIC_DISPATCH(CountPairsInOrder32)(keys, size);
}
double sum_precisions(const std::uint32_t* keys, std::int64_t size,
                      std::int64_t positives, std::int64_t all) {
  if (is_group(keys, size)) {
    return precisions_of_group(keys, size, positives, all);
  }
  return HWY_DYNAMIC_DISPATCH(SumPrecisions32)(keys, size, positives, all);
}
std::int64_t count_positives(const std::uint64_t* keys, std::int64_t size) {
  if (is_group(keys, size)) return positives_of_group(keys, size);
  return count_unsorted_positives(keys, size);
}
PairsInOrder count_pairs_in_order(const std::uint64_t* keys,
                                  std::int64_t size) {
  if (is_group(keys, size)) return pairs_of_group(keys, size);
  return HWY_DYNAMIC_DISPATCH(CountPairsInOrder64)(keys, size);
}
double sum_precisions(const std::uint64_t* keys, std::int64_t size,
                      std::int64_t positives, std::int64_t all) {
  if (is_group(keys, size)) {
    return precisions_of_group(keys, size, positives, all);
  }
  return HWY_DYNAMIC_DISPATCH(SumPrecisions64)(keys, size, positives, all);
}

}  // namespace tally::internal::classification
#endif  // HWY_ONCE
