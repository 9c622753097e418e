#include "tally/metrics/regression/kernels/pair_ranks.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/ordered_bits.h"
#include "tally/metrics/regression/kernels/value_counts.h"

namespace tally::internal::regression {
namespace {

// Below this, counting digits costs more than comparing keys.
constexpr std::int64_t kFewItems = 1024;
constexpr int kDigitBits = 11;
constexpr std::int64_t kDigits = std::int64_t{1} << kDigitBits;
// Pairs of so many would not fit into 64 bits, nor ranks into 32.
constexpr std::int64_t kTooManySamples = std::int64_t{1} << 32;

template <class Key>
struct Pair {
  Key key;
  Key other;
};

template <class Key>
struct Pairs {
  explicit Pairs(std::int64_t n)
      : items(new Pair<Key>[n]), spare(new Pair<Key>[n]), count(n) {}
  Pair<Key>& operator[](std::int64_t i) const { return items[i]; }

  std::unique_ptr<Pair<Key>[]> items;
  std::unique_ptr<Pair<Key>[]> spare;
  std::int64_t count;
};

// Sorts stably; the result lies in one of both. `key_of(item)` is a Key.
template <class Key, class Item, class KeyOf>
Item* radix_sort(Item* items, Item* spare, std::int64_t count,
                 const KeyOf& key_of) {
  if (count < kFewItems) {
    std::stable_sort(items, items + count, [&](const Item& a, const Item& b) {
      return key_of(a) < key_of(b);
    });
    return items;
  }
  constexpr int kPasses = (8 * sizeof(Key) + kDigitBits - 1) / kDigitBits;
  const auto counts = std::make_unique<
      std::array<std::array<std::int64_t, kDigits>, kPasses>>();
  for (auto& digits : *counts) digits.fill(0);
  for (std::int64_t i = 0; i < count; ++i) {
    for (int pass = 0; pass < kPasses; ++pass) {
      ++(*counts)[pass]
                 [(key_of(items[i]) >> (pass * kDigitBits)) & (kDigits - 1)];
    }
  }
  for (int pass = 0; pass < kPasses; ++pass) {
    const int shift = pass * kDigitBits;
    auto& offsets = (*counts)[pass];
    if (offsets[(key_of(items[0]) >> shift) & (kDigits - 1)] == count) continue;
    std::int64_t offset = 0;
    for (std::int64_t& digit : offsets) {
      offset += std::exchange(digit, offset);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t digit = (key_of(items[i]) >> shift) & (kDigits - 1);
      spare[offsets[digit]++] = items[i];
    }
    std::swap(items, spare);
  }
  return items;
}

template <class Key>
void sort_by_key(Pairs<Key>& pairs) {
  const Pair<Key>* const sorted =
      radix_sort<Key>(pairs.items.get(), pairs.spare.get(), pairs.count,
                      [](const Pair<Key>& pair) { return pair.key; });
  if (sorted != pairs.items.get()) std::swap(pairs.items, pairs.spare);
}

// `visit(begin, end)` of each group of equal keys, which are sorted.
template <class KeyAt, class Visit>
void for_each_group(std::int64_t count, const KeyAt& key_at,
                    const Visit& visit) {
  for (std::int64_t begin = 0; begin < count;) {
    std::int64_t end = begin + 1;
    while (end < count && key_at(end) == key_at(begin)) ++end;
    visit(begin, end);
    begin = end;
  }
}

// Keys of both; false for a NaN.
template <class Key, class T>
bool read(const T* x, const T* y, Pairs<Key>& pairs) {
  bool nan = false;
  for (std::int64_t i = 0; i < pairs.count; ++i) {
    nan |= x[i] != x[i] || y[i] != y[i];
    pairs[i] = {ordered_bits(x[i]), ordered_bits(y[i])};
  }
  return !nan;
}

// Of twice the ranks less their mean, which are whole numbers of either sign:
// what is summed is exact up to 10^5 samples, and rounded but little beyond.
struct RankSums {
  double squares_x = 0, squares_y = 0, products = 0;

  double correlation() const {
    return std::clamp(products / std::sqrt(squares_x * squares_y), -1.0, 1.0);
  }
};

template <class Key>
double correlation_of_ranks(Pairs<Key>& pairs) {
  const std::int64_t count = pairs.count;
  RankSums sums;
  sort_by_key(pairs);
  for_each_group(
      count, [&](std::int64_t i) { return pairs[i].key; },
      [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t rank = begin + end;
        for (std::int64_t i = begin; i < end; ++i) {
          pairs[i] = {pairs[i].other, static_cast<Key>(rank)};
        }
        const auto centered = static_cast<double>(rank - count);
        sums.squares_x +=
            static_cast<double>(end - begin) * centered * centered;
      });
  sort_by_key(pairs);
  for_each_group(
      count, [&](std::int64_t i) { return pairs[i].key; },
      [&](std::int64_t begin, std::int64_t end) {
        const auto centered = static_cast<double>(begin + end - count);
        std::int64_t sum = 0;
        for (std::int64_t i = begin; i < end; ++i) {
          sum += static_cast<std::int64_t>(pairs[i].other) - count;
        }
        sums.squares_y +=
            static_cast<double>(end - begin) * centered * centered;
        sums.products += centered * static_cast<double>(sum);
      });
  return sums.correlation();
}

void add_group(std::int64_t size, Ties& ties) {
  const auto t = static_cast<double>(size);
  ties.pairs += t * (t - 1) / 2;
  ties.triples += t * (t - 1) * (t - 2);
  ties.spread += t * (t - 1) * (2 * t + 5);
  ++ties.distinct;
}

double less_discordant(const PairCounts& counts, double tied_in_both,
                       std::int64_t discordant) {
  const auto n = static_cast<double>(counts.samples);
  return n * (n - 1) / 2 - counts.x.pairs - counts.y.pairs + tied_in_both -
         2 * static_cast<double>(discordant);
}

template <class Key>
PairCounts counts_of_pairs(Pairs<Key>& pairs) {
  const std::int64_t count = pairs.count;
  PairCounts counts;
  counts.samples = count;
  // First by y, which becomes its rank; then by x.
  for (std::int64_t i = 0; i < count; ++i) {
    std::swap(pairs[i].key, pairs[i].other);
  }
  sort_by_key(pairs);
  for_each_group(
      count, [&](std::int64_t i) { return pairs[i].key; },
      [&](std::int64_t begin, std::int64_t end) {
        const auto rank = static_cast<Key>(counts.y.distinct);
        add_group(end - begin, counts.y);
        for (std::int64_t i = begin; i < end; ++i) {
          pairs[i] = {pairs[i].other, rank};
        }
      });
  sort_by_key(pairs);
  // The sort is stable: what is tied in x is in the order of y, and so not
  // discordant.
  Ties both;
  for_each_group(
      count, [&](std::int64_t i) { return pairs[i].key; },
      [&](std::int64_t begin, std::int64_t end) {
        add_group(end - begin, counts.x);
        if (end - begin == 1) return;
        for_each_group(
            end - begin, [&](std::int64_t i) { return pairs[begin + i].other; },
            [&](std::int64_t from, std::int64_t to) {
              add_group(to - from, both);
            });
      });
  const std::unique_ptr<std::uint32_t[]> ranks(new std::uint32_t[2 * count]);
  for (std::int64_t i = 0; i < count; ++i) {
    ranks[i] = static_cast<std::uint32_t>(pairs[i].other);
  }
  counts.concordant_less_discordant =
      less_discordant(counts, both.pairs,
                      count_inversions(ranks.get(), ranks.get() + count, count,
                                       counts.y.distinct));
  return counts;
}

double correlation_of_ranks(const ValueTable& table, std::int64_t count) {
  RankSums sums;
  std::vector<std::int64_t> ranks_x;
  std::int64_t begin = 0;
  for (std::size_t x = 0; x < table.distinct_x(); ++x) {
    std::int64_t size = 0;
    for (std::size_t y = 0; y < table.distinct_y(); ++y) {
      size += table.cell(x, y);
    }
    ranks_x.push_back(2 * begin + size - count);
    begin += size;
    const auto centered = static_cast<double>(ranks_x.back());
    sums.squares_x += static_cast<double>(size) * centered * centered;
  }
  begin = 0;
  for (std::size_t y = 0; y < table.distinct_y(); ++y) {
    std::int64_t size = 0, sum = 0;
    for (std::size_t x = 0; x < table.distinct_x(); ++x) {
      size += table.cell(x, y);
      sum += table.cell(x, y) * ranks_x[x];
    }
    const auto centered = static_cast<double>(2 * begin + size - count);
    begin += size;
    sums.squares_y += static_cast<double>(size) * centered * centered;
    sums.products += centered * static_cast<double>(sum);
  }
  return sums.correlation();
}

PairCounts counts_of_pairs(const ValueTable& table, std::int64_t count) {
  PairCounts counts;
  counts.samples = count;
  Ties both;
  std::int64_t discordant = 0;
  std::vector<std::int64_t> of_y(table.distinct_y());  // with smaller x
  for (std::size_t x = 0; x < table.distinct_x(); ++x) {
    std::int64_t of_x = 0, above = 0;
    for (std::size_t y = table.distinct_y(); y-- > 0;) {
      const std::int64_t size = table.cell(x, y);
      discordant += size * above;
      above += of_y[y];
      of_y[y] += size;
      of_x += size;
      if (size > 0) add_group(size, both);
    }
    add_group(of_x, counts.x);
  }
  for (const std::int64_t size : of_y) add_group(size, counts.y);
  counts.concordant_less_discordant =
      less_discordant(counts, both.pairs, discordant);
  return counts;
}

// `of_table(table)` for few distinct values, else `of_pairs(pairs)` of keys of
// either width; `nothing` for a NaN.
template <class Result, class OfTable, class OfPairs>
Result with_pairs(const at::Tensor& x, const at::Tensor& y, Result nothing,
                  const OfTable& of_table, const OfPairs& of_pairs) {
  const std::int64_t count = x.numel();
  const auto visit = [&](const auto* a, const auto* b, auto pairs_of) {
    ValueTable table;
    if (table.count(a, b, count)) return of_table(table);
    auto pairs = pairs_of();
    return read(a, b, pairs) ? of_pairs(pairs) : nothing;
  };
  // Twice a rank must fit into a key.
  if (x.scalar_type() == at::kFloat && y.scalar_type() == at::kFloat &&
      count <= std::numeric_limits<std::int32_t>::max()) {
    const at::Tensor a = x.contiguous();
    const at::Tensor b = y.contiguous();
    return visit(a.const_data_ptr<float>(), b.const_data_ptr<float>(),
                 [&] { return Pairs<std::uint32_t>(count); });
  }
  const at::Tensor a = x.to(at::kDouble).contiguous();
  const at::Tensor b = y.to(at::kDouble).contiguous();
  return visit(a.const_data_ptr<double>(), b.const_data_ptr<double>(),
               [&] { return Pairs<std::uint64_t>(count); });
}

}  // namespace

double rank_correlation(const at::Tensor& x, const at::Tensor& y) {
  if (x.numel() < 2) return kNaN;
  return with_pairs(
      x, y, kNaN,
      [&](const ValueTable& table) {
        return correlation_of_ranks(table, x.numel());
      },
      [](auto& pairs) { return correlation_of_ranks(pairs); });
}

std::optional<PairCounts> count_pairs(const at::Tensor& x,
                                      const at::Tensor& y) {
  TORCH_CHECK_VALUE(x.numel() < kTooManySamples,
                    "expected less than 2^32 samples, got ", x.numel());
  if (x.numel() == 0) return PairCounts();
  using Result = std::optional<PairCounts>;
  return with_pairs(
      x, y, Result(),
      [&](const ValueTable& table) {
        return Result(counts_of_pairs(table, x.numel()));
      },
      [](auto& pairs) { return Result(counts_of_pairs(pairs)); });
}

}  // namespace tally::internal::regression
