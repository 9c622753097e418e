#include "tally/metrics/regression/pair_ranks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "tally/metrics/plain_values.h"

namespace tally::internal {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Below this, counting digits costs more than comparing keys.
constexpr std::int64_t kFewItems = 1024;
constexpr int kDigitBits = 11;
constexpr std::int64_t kDigits = std::int64_t{1} << kDigitBits;

// An unsigned number with the order of the floating-point one; both zeros are
// the same. REQUIRES: value is not NaN.
std::uint32_t ordered(float value) {
  value += 0.0f;
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits ^ (bits >> 31 ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
}
std::uint64_t ordered(double value) {
  value += 0.0;
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits ^ (bits >> 63 ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}

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

template <class Key>
void sort_keys(Key* keys, Key* spare, std::int64_t count) {
  const Key* const sorted =
      radix_sort<Key>(keys, spare, count, [](Key key) { return key; });
  if (sorted != keys) std::copy(sorted, sorted + count, keys);
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
    pairs[i] = {ordered(x[i]), ordered(y[i])};
  }
  return !nan;
}

// Twice the rank less its mean is a whole number, of either sign: what is
// summed is exact up to 10^5 samples, and rounded but little beyond.
template <class Key>
double correlation_of_ranks(Pairs<Key>& pairs) {
  const std::int64_t count = pairs.count;
  sort_by_key(pairs);
  double squares_x = 0;
  for_each_group(
      count, [&](std::int64_t i) { return pairs[i].key; },
      [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t rank = begin + end;
        for (std::int64_t i = begin; i < end; ++i) {
          pairs[i] = {pairs[i].other, static_cast<Key>(rank)};
        }
        const auto centred = static_cast<double>(rank - count);
        squares_x += static_cast<double>(end - begin) * centred * centred;
      });
  sort_by_key(pairs);
  double squares_y = 0;
  double products = 0;
  for_each_group(
      count, [&](std::int64_t i) { return pairs[i].key; },
      [&](std::int64_t begin, std::int64_t end) {
        const auto centred = static_cast<double>(begin + end - count);
        std::int64_t sum = 0;
        for (std::int64_t i = begin; i < end; ++i) {
          sum += static_cast<std::int64_t>(pairs[i].other) - count;
        }
        squares_y += static_cast<double>(end - begin) * centred * centred;
        products += centred * static_cast<double>(sum);
      });
  return std::clamp(products / std::sqrt(squares_x * squares_y), -1.0, 1.0);
}

void add_group(std::int64_t size, Ties& ties) {
  const auto t = static_cast<double>(size);
  ties.pairs += t * (t - 1) / 2;
  ties.triples += t * (t - 1) * (t - 2);
  ties.spread += t * (t - 1) * (2 * t + 5);
  ++ties.distinct;
}

// Sorts a few keys by insertion.
template <class Key>
std::int64_t insertion_inversions(Key* keys, std::int64_t count) {
  std::int64_t inversions = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    const Key key = keys[i];
    std::int64_t k = i;
    for (; k > 0 && keys[k - 1] > key; --k) keys[k] = keys[k - 1];
    keys[k] = key;
    inversions += i - k;
  }
  return inversions;
}

constexpr std::int64_t kRun = 8;

// Sorts kRun keys by counting which are smaller: no branch depends on them.
template <class Key>
std::int64_t run_inversions(Key* keys) {
  Key sorted[kRun];
  std::int32_t inversions = 0;
  for (std::int64_t i = 0; i < kRun; ++i) {
    std::int32_t place = 0;
    for (std::int64_t k = 0; k < i; ++k) place += keys[k] <= keys[i];
    inversions += static_cast<std::int32_t>(i) - place;
    for (std::int64_t k = i + 1; k < kRun; ++k) place += keys[k] < keys[i];
    sorted[place] = keys[i];
  }
  std::copy(sorted, sorted + kRun, keys);
  return inversions;
}

// Merges runs [0, middle) and [middle, count), from the front alone.
template <class Key>
std::int64_t merge_runs(const Key* from, std::int64_t middle,
                        std::int64_t count, Key* to) {
  std::int64_t left = 0, right = middle, inversions = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool take_right =
        left == middle || (right < count && from[right] < from[left]);
    to[i] = from[take_right ? right : left];
    inversions += take_right ? middle - left : 0;
    left += !take_right;
    right += take_right;
  }
  return inversions;
}

// The same of runs of one length, from both ends at once: two chains of
// dependent steps instead of one, and neither can run past its run's end.
// An inversion is counted where its right part is moved.
template <class Key>
std::int64_t merge_equal_runs(const Key* from, std::int64_t length, Key* to) {
  const Key* left = from;
  const Key* right = from + length;
  const Key* left_back = from + length - 1;
  const Key* right_back = from + 2 * length - 1;
  const Key* const left_end = from + length;
  Key* front = to;
  Key* back = to + 2 * length - 1;
  std::int64_t inversions = 0;
  // Without a branch that the data decide.
  const auto if_so = [](bool so, std::int64_t value) {
    return -static_cast<std::int64_t>(so) & value;
  };
  for (std::int64_t i = 0; i < length; ++i) {
    const Key l = *left;
    const Key r = *right;
    const bool take_right = r < l;
    *front++ = take_right ? r : l;
    inversions += if_so(take_right, left_end - left);
    right += take_right;
    left += !take_right;
    const Key l_back = *left_back;
    const Key r_back = *right_back;
    const bool take_left = r_back < l_back;
    *back-- = take_left ? l_back : r_back;
    inversions += if_so(!take_left, left_end - 1 - left_back);
    left_back -= take_left;
    right_back -= !take_left;
  }
  return inversions;
}

// Sorts; `spare` has room for as many.
template <class Key>
std::int64_t sort_inversions(Key* keys, std::int64_t count, Key* spare) {
  std::int64_t inversions = 0;
  std::int64_t whole = 0;
  for (; whole + kRun <= count; whole += kRun) {
    inversions += run_inversions(keys + whole);
  }
  inversions += insertion_inversions(keys + whole, count - whole);
  Key* from = keys;
  Key* to = spare;
  for (std::int64_t length = kRun; length < count; length *= 2) {
    for (std::int64_t begin = 0; begin < count; begin += 2 * length) {
      const std::int64_t size = std::min(2 * length, count - begin);
      inversions += size == 2 * length
                        ? merge_equal_runs(from + begin, length, to + begin)
                        : merge_runs(from + begin, std::min(length, size), size,
                                     to + begin);
    }
    std::swap(from, to);
  }
  if (from != keys) std::copy(from, from + count, keys);
  return inversions;
}

template <class Key>
PairCounts counts_of_pairs(Pairs<Key>& pairs) {
  const std::int64_t count = pairs.count;
  PairCounts counts;
  counts.samples = count;
  sort_by_key(pairs);
  const std::unique_ptr<Key[]> buffer(new Key[2 * count]);
  Key* const y = buffer.get();
  Key* const spare = y + count;
  for (std::int64_t i = 0; i < count; ++i) y[i] = pairs[i].other;
  // What is tied in x is put into the order of y: it is not discordant.
  Ties both;
  for_each_group(
      count, [&](std::int64_t i) { return pairs[i].key; },
      [&](std::int64_t begin, std::int64_t end) {
        add_group(end - begin, counts.x);
        if (end - begin == 1) return;
        sort_keys(y + begin, spare + begin, end - begin);
        for_each_group(
            end - begin, [&](std::int64_t i) { return y[begin + i]; },
            [&](std::int64_t from, std::int64_t to) {
              add_group(to - from, both);
            });
      });
  const auto discordant = static_cast<double>(sort_inversions(y, count, spare));
  for_each_group(
      count, [&](std::int64_t i) { return y[i]; },
      [&](std::int64_t begin, std::int64_t end) {
        add_group(end - begin, counts.y);
      });
  const auto n = static_cast<double>(count);
  counts.concordant_less_discordant = n * (n - 1) / 2 - counts.x.pairs -
                                      counts.y.pairs + both.pairs -
                                      2 * discordant;
  return counts;
}

// `visit(pairs)` of keys of either width; `nothing` for a NaN.
template <class Result, class Visit>
Result with_pairs(const at::Tensor& x, const at::Tensor& y, Result nothing,
                  const Visit& visit) {
  const std::int64_t count = x.numel();
  // Twice a rank must fit into a key.
  if (x.scalar_type() == at::kFloat && y.scalar_type() == at::kFloat &&
      count <= std::numeric_limits<std::int32_t>::max()) {
    const at::Tensor a = x.contiguous();
    const at::Tensor b = y.contiguous();
    Pairs<std::uint32_t> pairs(count);
    const bool known =
        read(a.const_data_ptr<float>(), b.const_data_ptr<float>(), pairs);
    return known ? visit(pairs) : nothing;
  }
  const at::Tensor a = x.to(at::kDouble).contiguous();
  const at::Tensor b = y.to(at::kDouble).contiguous();
  Pairs<std::uint64_t> pairs(count);
  const bool known =
      read(a.const_data_ptr<double>(), b.const_data_ptr<double>(), pairs);
  return known ? visit(pairs) : nothing;
}

}  // namespace

double rank_correlation(const at::Tensor& x, const at::Tensor& y) {
  if (x.numel() < 2) return kNaN;
  return with_pairs(x, y, kNaN,
                    [](auto& pairs) { return correlation_of_ranks(pairs); });
}

std::optional<PairCounts> count_pairs(const at::Tensor& x,
                                      const at::Tensor& y) {
  if (x.numel() == 0) return PairCounts();
  return with_pairs(x, y, std::optional<PairCounts>(), [](auto& pairs) {
    return std::optional<PairCounts>(counts_of_pairs(pairs));
  });
}

}  // namespace tally::internal
