#include "tally/metrics/common/key_sort.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "tally/metrics/common/scratch.h"
#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/common/key_sort.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#if !HWY_ARCH_X86
#include <hwy/contrib/sort/vqsort.h>
#endif
#include <hwy/highway.h>

#include "tally/metrics/common/compress-inl.h"
#include "tally/metrics/common/sort_network-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if TALLY_HAS_SELECT

template <class Key>
constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<Key>());
template <class Key>
constexpr std::int64_t kFewKeys = SortNetwork<Key>::kMost;
template <class Key>
constexpr std::int64_t kStep = 4 * kLanes<Key>;

// Those behind them, up to `end`, are not below them.
template <class Key>
void sort_few(Key* keys, std::int64_t count, const Key* end) {
  if (count < 2) return;
  if (2 * count > kFewKeys<Key> && end - keys >= kFewKeys<Key>) {
    return SortNetwork<Key>::sort(keys, kLanes<Key>);
  }
  HWY_ALIGN Key few[kFewKeys<Key> + kLanes<Key>];
  std::int64_t columns = 1;
  while (16 * columns < count) columns *= 2;
  std::copy_n(keys, count, few);
  std::fill(few + count, few + 16 * columns, ~Key{0});
  SortNetwork<Key>::sort(few, columns);
  std::copy_n(few, count, keys);
}

// Where the next parted keys go: to `low` and to the end of the `gap` keys from
// there on.
template <class Key>
struct Gap {
  Key* low;
  std::int64_t gap;
};
template <class Key, class V>
HWY_INLINE void store_vector(V v, V bound, Gap<Key>& to) {
  const hn::ScalableTag<Key> d;
  to.gap -= kLanes<Key>;
  to.low += store_parted(d, v, hn::Gt(v, bound), to.low, to.low + to.gap);
}
template <class Key, class V>
HWY_INLINE void store_step(const Key* from, V bound, Gap<Key>& to) {
  const hn::ScalableTag<Key> d;
  const V a = hn::LoadU(d, from);
  const V b = hn::LoadU(d, from + kLanes<Key>);
  const V c = hn::LoadU(d, from + 2 * kLanes<Key>);
  const V e = hn::LoadU(d, from + 3 * kLanes<Key>);
  store_vector(a, bound, to);
  store_vector(b, bound, to);
  store_vector(c, bound, to);
  store_vector(e, bound, to);
}

// Keys that are not parted yet.
template <class Key>
struct Unread {
  const Key* next;
  const Key* last;
};
// The step to go on with: from the end where there is less room.
template <class Key>
HWY_INLINE const Key* take_step(Unread<Key>& keys, const Gap<Key>& to) {
  // A branch would be guessed wrong.
  const std::ptrdiff_t at_low = -std::ptrdiff_t{
      2 * (keys.next - to.low) <= to.gap - (keys.last - keys.next)};
  keys.last -= ~at_low & kStep<Key>;
  const Key* const from = keys.last + (at_low & (keys.next - keys.last));
  keys.next += at_low & kStep<Key>;
  return from;
}

// Moves keys up to the pivot to the front and returns the end of these.
// REQUIRES: count >= kFewKeys.
template <class Key>
Key* partition(Key* keys, std::int64_t count, Key pivot) {
  const hn::ScalableTag<Key> d;
  constexpr std::int64_t kWidth = kLanes<Key>;
  const auto bound = hn::Set(d, pivot);

  // The first few go where they belong, so that whole steps remain.
  const std::int64_t odd = count % kStep<Key>;
  HWY_ALIGN Key lows[kStep<Key> + kWidth];
  HWY_ALIGN Key highs[kStep<Key> + kWidth];
  std::int64_t low_count = 0;
  std::int64_t high_count = 0;
  for (std::int64_t i = 0; i < odd; i += kWidth) {
    const auto v = hn::LoadU(d, keys + i);
    const auto own = hn::FirstN(d, static_cast<std::size_t>(odd - i));
    const auto is_high = hn::Gt(v, bound);
    const auto own_lows = selected(d, v, hn::AndNot(is_high, own));
    const auto own_highs = selected(d, v, hn::And(is_high, own));
    hn::StoreU(own_lows.lanes, d, lows + low_count);
    hn::StoreU(own_highs.lanes, d, highs + high_count);
    low_count += own_lows.count;
    high_count += own_highs.count;
  }
  const std::int64_t rest = count - high_count;
  std::memcpy(keys, lows, low_count * sizeof(Key));
  std::memcpy(keys + low_count, keys + rest, high_count * sizeof(Key));
  std::memcpy(keys + rest, highs, high_count * sizeof(Key));

  // Room for two steps at either end.
  constexpr std::int64_t kRoom = 2 * kStep<Key>;
  Gap<Key> to = {keys + low_count, rest - low_count};
  Unread<Key> unread = {to.low + kRoom, to.low + to.gap - kRoom};
  HWY_ALIGN Key ends[2 * kRoom];
  for (std::int64_t i = 0; i < kRoom; i += kWidth) {
    hn::Store(hn::LoadU(d, to.low + i), d, ends + i);
    hn::Store(hn::LoadU(d, unread.last + i), d, ends + kRoom + i);
  }
  if (unread.next != unread.last) {
    const Key* from = take_step(unread, to);
    // The next one is chosen before this one is stored, so that it need not
    // wait for it.
    while (unread.next != unread.last) {
      const Key* const then = take_step(unread, to);
      store_step(from, bound, to);
      from = then;
    }
    store_step(from, bound, to);
  }
  for (std::int64_t i = 0; i < 2 * kRoom; i += kStep<Key>) {
    store_step(ends + i, bound, to);
  }
  return to.low;
}

template <class Key>
bool are_equal(const Key* keys, std::int64_t count) {
  const hn::ScalableTag<Key> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto first = hn::Set(d, keys[0]);
  for (std::int64_t i = 0; i + lanes <= count; i += lanes) {
    if (!hn::AllTrue(d, hn::Eq(hn::LoadU(d, keys + i), first))) return false;
  }
  return hn::AllTrue(d, hn::Eq(hn::LoadU(d, keys + count - lanes), first));
}

// A few keys, sorted.
template <class Key>
class Sample {
 public:
  Sample(const Key* keys, std::int64_t count)
      : size_(count < 1 << 12   ? 32
              : count < 1 << 16 ? 64
                                : 128) {
    const hn::ScalableTag<Key> d;
    size_ = std::min(size_, kFewKeys<Key>);
    const std::int64_t stride = count / (size_ / kLanes<Key>);
    std::uint64_t random = static_cast<std::uint64_t>(count);
    for (std::int64_t i = 0; i < size_; i += kLanes<Key>) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t place =
          (random >> 32) * static_cast<std::uint64_t>(stride - kLanes<Key>) >>
          32;
      hn::Store(hn::LoadU(d, keys + place), d, keys_ + i);
      keys += stride;
    }
    SortNetwork<Key>::sort(keys_, size_ / 16);
  }
  Key median() const { return keys_[size_ / 2 - 1]; }
  bool has_one_key() const { return keys_[0] == keys_[size_ - 1]; }

 private:
  HWY_ALIGN Key keys_[kFewKeys<Key> + kLanes<Key>];
  std::int64_t size_;
};

// `depth` is how often they may be parted: more often only those are that were
// made up against it.
template <class Key>
void sort_many(Key* keys, std::int64_t count, const Key* limit, int depth) {
  while (count > kFewKeys<Key>) {
    if (depth-- == 0) return sort_by_digits(keys, count);
    const Sample<Key> sample(keys, count);
    if (sample.has_one_key() && are_equal(keys, count)) return;
    const Key pivot = sample.median();
    Key* const end = keys + count;
    Key* const high = partition(keys, count, pivot);
    if (high == end) {
      // The pivot's equals are where they belong.
      if (pivot == 0) return;
      count = partition(keys, count, pivot - 1) - keys;
      continue;
    }
    sort_many(high, end - high, limit, depth);
    count = high - keys;
  }
  sort_few(keys, count, limit);
}

template <class Key>
void sort_some(Key* keys, std::int64_t count) {
  int depth = 8;
  for (std::int64_t i = count; i > 0; i >>= 1) depth += 2;
  sort_many(keys, count, keys + count, depth);
}

// Newer Highways have x86's baseline as a target, too.
#elif HWY_ARCH_X86 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

template <class Key>
void sort_some(Key* keys, std::int64_t count) {
  sort_by_digits(keys, count);
}

#else

template <class Key>
void sort_some(Key* keys, std::int64_t count) {
  hwy::Sorter()(keys, static_cast<std::size_t>(count), hwy::SortAscending());
}

#endif

void Sort32(std::uint32_t* keys, std::int64_t count) { sort_some(keys, count); }
void Sort64(std::uint64_t* keys, std::int64_t count) { sort_some(keys, count); }

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::classification {

HWY_EXPORT(Sort32);
HWY_EXPORT(Sort64);

void sort_keys(std::uint32_t* keys, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(Sort32)(keys, count);
}
void sort_keys(std::uint64_t* keys, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(Sort64)(keys, count);
}

namespace {

// Below this, counting digits costs more than comparing keys.
constexpr std::int64_t kFewKeys = 1024;
constexpr int kDigitBits = 11;
constexpr std::int64_t kDigits = std::int64_t{1} << kDigitBits;

}  // namespace

template <class Key>
void sort_by_digits(Key* keys, std::int64_t count) {
  if (count < kFewKeys) {
    std::sort(keys, keys + count);
    return;
  }
  constexpr int kPasses = (8 * sizeof(Key) + kDigitBits - 1) / kDigitBits;
  std::array<std::array<std::int64_t, kDigits>, kPasses> counts{};
  for (std::int64_t i = 0; i < count; ++i) {
    for (int pass = 0; pass < kPasses; ++pass) {
      ++counts[pass][(keys[i] >> (pass * kDigitBits)) & (kDigits - 1)];
    }
  }
  Scratch<Key> spare(count);
  Key* from = keys;
  Key* to = spare.data();
  for (int pass = 0; pass < kPasses; ++pass) {
    const int shift = pass * kDigitBits;
    auto& offsets = counts[pass];
    if (offsets[(keys[0] >> shift) & (kDigits - 1)] == count) continue;
    std::int64_t offset = 0;
    for (std::int64_t& digit : offsets) {
      offset += std::exchange(digit, offset);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      to[offsets[(from[i] >> shift) & (kDigits - 1)]++] = from[i];
    }
    std::swap(from, to);
  }
  if (from != keys) std::copy(from, from + count, keys);
}

template void sort_by_digits(std::uint32_t*, std::int64_t);
template void sort_by_digits(std::uint64_t*, std::int64_t);

}  // namespace tally::internal::classification
#endif  // HWY_ONCE
