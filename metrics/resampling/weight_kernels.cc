#include "tally/metrics/resampling/weight_kernels.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/resampling/weight_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h, both.
#include <hwy/highway.h>

#include "tally/metrics/resampling/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::intervals::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void PoissonWeights(PhiloxKey key, const std::int64_t* ids, std::int64_t count,
                    std::int64_t stride, std::uint8_t* weights) {
  const std::int64_t blocks = stride / kPoissonPerBlock;
  const PhiloxNumbers numbers(key, PhiloxStream::kPoisson);
  for (std::int64_t i = 0; i < count; ++i, weights += stride) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      const auto words = numbers(static_cast<std::uint32_t>(block), ids[i]);
      std::uint8_t* const own = weights + kPoissonPerBlock * block;
      for (int j = 0; j < kPoissonPerBlock; ++j) {
        const std::uint32_t bits = words[j / 2] >> (16 * (j % 2)) & 0xffff;
        own[j] = 0;
        for (const std::uint32_t threshold : kPoissonThresholds) {
          own[j] += bits >= threshold;
        }
      }
    }
  }
}

#else

// The Poisson weights of both halves of each lane, in its two low bytes.
template <std::size_t... kIndex>
HWY_INLINE WordVector weights_of(const WordVector words,
                                 std::index_sequence<kIndex...>) {
  const Word d;
  const hn::Repartition<std::int16_t, Word> halves;
  // Thresholds are compared as signed numbers.
  const auto sign = hn::Set(halves, static_cast<std::int16_t>(-0x8000));
  const auto bits = hn::Xor(hn::BitCast(halves, words), sign);
  // A mask is -1.
  const auto reached = [&](std::uint32_t threshold) HWY_ATTR {
    const auto below = static_cast<std::int16_t>(
        static_cast<std::int32_t>(threshold) - 1 - 0x8000);
    return hn::VecFromMask(halves, hn::Gt(bits, hn::Set(halves, below)));
  };
  auto weights = hn::Zero(halves);
  ((weights = hn::Sub(weights, reached(kPoissonThresholds[kIndex]))), ...);
  const auto pairs = hn::BitCast(d, weights);
  return hn::And(hn::Or(pairs, hn::ShiftRight<8>(pairs)), hn::Set(d, 0xffffu));
}

HWY_INLINE WordVector weights_of(const WordVector words) {
  return weights_of(words,
                    std::make_index_sequence<std::size(kPoissonThresholds)>());
}

void PoissonWeights(PhiloxKey key, const std::int64_t* ids, std::int64_t count,
                    std::int64_t stride, std::uint8_t* weights) {
  const std::int64_t blocks = stride / kPoissonPerBlock;
  const Word d;
  const std::int64_t lanes = word_lanes();
  for (std::int64_t i = 0; i < count; ++i, weights += stride) {
    for (std::int64_t block = 0; block < blocks; block += lanes) {
      WordVector words[4];
      words_of_blocks(key, PhiloxStream::kPoisson,
                      static_cast<std::uint32_t>(block), ids[i], words);
      const auto low =
          hn::Or(weights_of(words[0]), hn::ShiftLeft<16>(weights_of(words[1])));
      const auto high =
          hn::Or(weights_of(words[2]), hn::ShiftLeft<16>(weights_of(words[3])));
      std::uint32_t buffer[2 * hn::MaxLanes(d)];
      hn::StoreInterleaved2(low, high, d, buffer);
      std::memcpy(weights + kPoissonPerBlock * block, buffer,
                  static_cast<std::size_t>(kPoissonPerBlock * lanes));
    }
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

// ids[0] to ids[count - 1], and then the last one again: a whole vector.
struct SomeIds {
  std::int64_t ids[hn::MaxLanes(Word())];

  SomeIds(const std::int64_t* begin, std::int64_t count) {
    std::copy_n(begin, count, ids);
    std::fill(ids + count, std::end(ids), begin[count - 1]);
  }
};

// Calls use(words, first, count) for vectors of words of a block of the ids.
template <class Use>
HWY_INLINE void for_each_id(PhiloxKey key, PhiloxStream stream,
                            std::uint32_t block, const std::int64_t* ids,
                            std::int64_t count, const Use& use) {
  const std::int64_t lanes = word_lanes();
  WordVector words[4];
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    words_of_ids(key, stream, block, ids + i, words);
    use(words, i, lanes);
  }
  if (i < count) {
    const SomeIds rest(ids + i, count - i);
    words_of_ids(key, stream, block, rest.ids, words);
    use(words, i, count - i);
  }
}

// 0 or 2 for each of 32 bits, eight at a time: each byte keeps its own bit.
HWY_INLINE void spread_bits(std::uint32_t word, std::uint8_t* weights) {
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t byte = word >> (8 * i) & 0xff;
    const std::uint64_t own = byte * 0x0101010101010101u & 0x8040201008040201u;
    const std::uint64_t twice =
        (own + 0x7f7f7f7f7f7f7f7fu) >> 6 & 0x0202020202020202u;
    std::memcpy(weights + 8 * i, &twice, sizeof(twice));
  }
}

void BitWeights(PhiloxKey key, const std::int64_t* ids, std::int64_t count,
                std::int64_t stride, std::uint8_t* weights) {
  std::uint32_t buffer[4 * hn::MaxLanes(Word())];
  for (std::int64_t block = 0; block < stride / kBitsPerBlock; ++block) {
    for_each_id(
        key, PhiloxStream::kDoubleOrNothing, static_cast<std::uint32_t>(block),
        ids, count,
        [&](const WordVector* words, std::int64_t first, std::int64_t some) {
          hn::StoreInterleaved4(words[0], words[1], words[2], words[3], Word(),
                                buffer);
          for (std::int64_t i = 0; i < some; ++i) {
            std::uint8_t* const row =
                weights + (first + i) * stride + kBitsPerBlock * block;
            for (int word = 0; word < 4; ++word) {
              spread_bits(buffer[4 * i + word], row + 32 * word);
            }
          }
        });
  }
}

// A full adder of each bit: `sum` and the carry of sum + a + b.
HWY_INLINE WordVector add_bits(WordVector& sum, const WordVector a,
                               const WordVector b) {
  const WordVector either = hn::Xor(sum, a);
  const WordVector carry = hn::Or(hn::And(sum, a), hn::And(either, b));
  sum = hn::Xor(either, b);
  return carry;
}

// How many vectors have each bit set: digit i of a count is in plane i.
class BitCounter {
 public:
  static constexpr std::int64_t kTogether = 8;
  // So many vectors can be counted.
  static constexpr std::int64_t kMost = 255 / kTogether * kTogether;

  BitCounter() { std::fill_n(planes_, kPlanes, hn::Zero(Word())); }

  // Adds kTogether vectors.
  HWY_INLINE void add(const WordVector* bits) {
    WordVector fours[2];
    for (int half = 0; half < 2; ++half) {
      const WordVector* const own = bits + 4 * half;
      const WordVector first = add_bits(planes_[0], own[0], own[1]);
      const WordVector second = add_bits(planes_[0], own[2], own[3]);
      fours[half] = add_bits(planes_[1], first, second);
    }
    WordVector carry = add_bits(planes_[2], fours[0], fours[1]);
    for (int i = 3; i < kPlanes; ++i) {
      const WordVector next = hn::And(planes_[i], carry);
      planes_[i] = hn::Xor(planes_[i], carry);
      carry = next;
    }
  }

  // Adds the counts of all lanes to 32 sums, after `count` vectors.
  void add_to(std::int64_t count, std::uint32_t* sums) const {
    const Word d;
    std::uint32_t words[hn::MaxLanes(d)];
    for (int i = 0; i < kPlanes && count >> i != 0; ++i) {
      hn::StoreU(planes_[i], d, words);
      const auto digit = hn::Set(d, 1u << i);
      for (std::int64_t bit = 0; bit < 32; bit += word_lanes()) {
        const auto own = hn::Shl(hn::Set(d, 1u << bit), hn::Iota(d, 0));
        auto sum = hn::LoadU(d, sums + bit);
        for (std::int64_t lane = 0; lane < word_lanes(); ++lane) {
          const auto is_set = hn::TestBit(hn::Set(d, words[lane]), own);
          sum = hn::Add(sum, hn::IfThenElseZero(is_set, digit));
        }
        hn::StoreU(sum, d, sums + bit);
      }
    }
  }

 private:
  static constexpr int kPlanes = 8;

  WordVector planes_[kPlanes];
};

void CountBits(PhiloxKey key, const std::int64_t* ids, std::int64_t count,
               std::int64_t stride, std::uint32_t* sums) {
  const Word d;
  const std::int64_t most = BitCounter::kMost * word_lanes();
  for (; count > 0; ids += most, count -= most) {
    const std::int64_t some = std::min(count, most);
    for (std::int64_t block = 0; block < stride / kBitsPerBlock; ++block) {
      BitCounter counters[4];
      WordVector waiting[4][BitCounter::kTogether];
      std::int64_t vectors = 0;
      const auto add_waiting = [&] {
        for (int i = 0; i < 4; ++i) counters[i].add(waiting[i]);
      };
      for_each_id(
          key, PhiloxStream::kDoubleOrNothing,
          static_cast<std::uint32_t>(block), ids, some,
          [&](const WordVector* words, std::int64_t, std::int64_t lanes) {
            const auto counted = hn::VecFromMask(
                d, hn::FirstN(d, static_cast<std::size_t>(lanes)));
            const std::int64_t place = vectors++ % BitCounter::kTogether;
            for (int i = 0; i < 4; ++i) {
              waiting[i][place] = hn::And(words[i], counted);
            }
            if (place + 1 == BitCounter::kTogether) add_waiting();
          });
      const std::int64_t rest = vectors % BitCounter::kTogether;
      if (rest > 0) {
        for (auto& some_words : waiting) {
          std::fill(some_words + rest, std::end(some_words), hn::Zero(d));
        }
        add_waiting();
      }
      for (int i = 0; i < 4; ++i) {
        counters[i].add_to(vectors, sums + kBitsPerBlock * block + 32 * i);
      }
    }
  }
}

void SumWords(PhiloxKey key, PhiloxStream stream, const std::int64_t* ids,
              std::int64_t count, std::uint64_t* sums) {
  const Word d;
  std::uint32_t buffer[hn::MaxLanes(d)];
  for_each_id(key, stream, 0, ids, count,
              [&](const WordVector* words, std::int64_t, std::int64_t some) {
                for (int i = 0; i < 2; ++i) {
                  hn::StoreU(words[i], d, buffer);
                  for (std::int64_t j = 0; j < some; ++j) sums[i] += buffer[j];
                }
              });
}

void AddWeights(const std::uint8_t* weights, std::int64_t rows,
                std::int64_t stride, std::uint32_t* sums) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // So many weights of up to 8 fit a byte.
  constexpr std::int64_t kRows = 31;
  std::uint8_t buffer[hn::MaxLanes(d)];
  for (; rows > 0; rows -= kRows, weights += kRows * stride) {
    const std::int64_t some = std::min(rows, kRows);
    for (std::int64_t i = 0; i < stride; i += lanes) {
      auto sum = hn::Zero(d);
      for (std::int64_t row = 0; row < some; ++row) {
        sum = hn::Add(sum, hn::LoadU(d, weights + row * stride + i));
      }
      hn::StoreU(sum, d, buffer);
      for (std::int64_t j = 0; j < lanes; ++j) sums[i + j] += buffer[j];
    }
  }
}

void AddProducts(const std::uint8_t* weights, std::int64_t rows,
                 std::int64_t stride, const double* factors, std::int64_t step,
                 double* sums) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < stride; i += 2 * lanes) {
    auto first = hn::LoadU(d, sums + i);
    auto second = hn::LoadU(d, sums + i + lanes);
    const std::uint8_t* own = weights + i;
    for (std::int64_t row = 0; row < rows; ++row, own += stride) {
      const auto factor = hn::Set(d, factors[row * step]);
      const auto product_of = [&](const std::uint8_t* some) {
        const auto wide = hn::PromoteTo(di, hn::LoadU(d8, some));
        return hn::Mul(hn::PromoteTo(d, wide), factor);
      };
      first = hn::Add(first, product_of(own));
      second = hn::Add(second, product_of(own + lanes));
    }
    hn::StoreU(first, d, sums + i);
    hn::StoreU(second, d, sums + i + lanes);
  }
}

}  // namespace tally::internal::intervals::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::intervals {

HWY_EXPORT(PoissonWeights);
HWY_EXPORT(BitWeights);
HWY_EXPORT(CountBits);
HWY_EXPORT(SumWords);
HWY_EXPORT(AddWeights);
HWY_EXPORT(AddProducts);

void poisson_weights(PhiloxKey key, const std::int64_t* ids, std::int64_t count,
                     std::int64_t stride, std::uint8_t* weights) {
  HWY_DYNAMIC_DISPATCH(PoissonWeights)(key, ids, count, stride, weights);
}

void bit_weights(PhiloxKey key, const std::int64_t* ids, std::int64_t count,
                 std::int64_t stride, std::uint8_t* weights) {
  HWY_DYNAMIC_DISPATCH(BitWeights)(key, ids, count, stride, weights);
}

void count_bits(PhiloxKey key, const std::int64_t* ids, std::int64_t count,
                std::int64_t stride, std::uint32_t* sums) {
  HWY_DYNAMIC_DISPATCH(CountBits)(key, ids, count, stride, sums);
}

void sum_words(PhiloxKey key, PhiloxStream stream, const std::int64_t* ids,
               std::int64_t count, std::uint64_t* sums) {
  HWY_DYNAMIC_DISPATCH(SumWords)
  (key, stream, ids, count, sums);
}

void add_weights(const std::uint8_t* weights, std::int64_t rows,
                 std::int64_t stride, std::uint32_t* sums) {
  HWY_DYNAMIC_DISPATCH(AddWeights)(weights, rows, stride, sums);
}

void add_products(const std::uint8_t* weights, std::int64_t rows,
                  std::int64_t stride, const double* factors, std::int64_t step,
                  double* sums) {
  HWY_DYNAMIC_DISPATCH(AddProducts)
  (weights, rows, stride, factors, step, sums);
}

}  // namespace tally::internal::intervals
#endif  // HWY_ONCE
