#include "tally/metrics/classification/kernels/sorted_kernels.h"

#include <algorithm>
#include <cstdint>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/classification/kernels/sorted_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

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

template <class Key>
void reverse_some_keys(Key* keys, std::int64_t size) {
  const hn::ScalableTag<Key> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t begin = 0;
  std::int64_t end = size;
  for (; begin + 2 * lanes <= end; begin += lanes, end -= lanes) {
    const auto low = hn::LoadU(d, keys + begin);
    const auto high = hn::LoadU(d, keys + end - lanes);
    hn::StoreU(hn::Reverse(d, high), d, keys + begin);
    hn::StoreU(hn::Reverse(d, low), d, keys + end - lanes);
  }
  std::reverse(keys + begin, keys + end);
}

void ReverseKeys32(std::uint32_t* keys, std::int64_t size) {
  reverse_some_keys(keys, size);
}
void ReverseKeys64(std::uint64_t* keys, std::int64_t size) {
  reverse_some_keys(keys, size);
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

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::classification {

HWY_EXPORT(OrderOfFloats);
HWY_EXPORT(OrderOfDoubles);
HWY_EXPORT(ReverseKeys32);
HWY_EXPORT(ReverseKeys64);
HWY_EXPORT(SortEqualScores32);
HWY_EXPORT(SortEqualScores64);

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

void reverse_keys(std::uint32_t* keys, std::int64_t size) {
  HWY_DYNAMIC_DISPATCH(ReverseKeys32)(keys, size);
}
void reverse_keys(std::uint64_t* keys, std::int64_t size) {
  HWY_DYNAMIC_DISPATCH(ReverseKeys64)(keys, size);
}

}  // namespace tally::internal::classification
#endif  // HWY_ONCE
