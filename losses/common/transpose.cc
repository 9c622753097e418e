#include "tally/losses/common/transpose.h"

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/common/transpose.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// How many numbers are in a block of a vector, which has 16 bytes.
template <class D>
constexpr std::int64_t kBlock = 16 / sizeof(hn::TFromD<D>);

// Blocks of rows that are kBlock rows apart.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, std::int64_t stride) {
  if constexpr (hn::MaxLanes(D()) == kBlock<D>) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const auto rows = static_cast<std::int64_t>(hn::Lanes(half));
    return hn::Combine(d, load_blocks(half, from + rows * stride, stride),
                       load_blocks(half, from, stride));
  }
}

// As many rows as a vector has lanes, and as many columns as a block has.
template <class D>
HWY_INLINE void transpose_tile(D d, const float* from, std::int64_t from_stride,
                               float* to, std::int64_t to_stride) {
  const auto row = [&](std::int64_t i) HWY_ATTR {
    return load_blocks(d, from + i * from_stride, from_stride);
  };
  const auto put = [&](hn::Vec<D> column, std::int64_t j)
                       HWY_ATTR { hn::StoreU(column, d, to + j * to_stride); };
  const auto v0 = row(0), v1 = row(1), v2 = row(2), v3 = row(3);
  const auto even_lower = hn::InterleaveLower(d, v0, v2);
  const auto even_upper = hn::InterleaveUpper(d, v0, v2);
  const auto odd_lower = hn::InterleaveLower(d, v1, v3);
  const auto odd_upper = hn::InterleaveUpper(d, v1, v3);
  put(hn::InterleaveLower(d, even_lower, odd_lower), 0);
  put(hn::InterleaveUpper(d, even_lower, odd_lower), 1);
  put(hn::InterleaveLower(d, even_upper, odd_upper), 2);
  put(hn::InterleaveUpper(d, even_upper, odd_upper), 3);
}
template <class D>
HWY_INLINE void transpose_tile(D d, const double* from,
                               std::int64_t from_stride, double* to,
                               std::int64_t to_stride) {
  const auto v0 = load_blocks(d, from, from_stride);
  const auto v1 = load_blocks(d, from + from_stride, from_stride);
  hn::StoreU(hn::InterleaveLower(d, v0, v1), d, to);
  hn::StoreU(hn::InterleaveUpper(d, v0, v1), d, to + to_stride);
}

template <class D, class T>
void transpose_tiles(D d, const T* from, std::int64_t from_stride,
                     std::int64_t rows, std::int64_t columns, T* to,
                     std::int64_t to_stride) {
  const auto height = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t row = 0; row < rows; row += height) {
    // The last tiles begin within those before.
    const std::int64_t i = std::min(row, rows - height);
    for (std::int64_t column = 0; column < columns; column += kBlock<D>) {
      const std::int64_t j = std::min(column, columns - kBlock<D>);
      transpose_tile(d, from + i * from_stride + j, from_stride,
                     to + j * to_stride + i, to_stride);
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

template <class T>
void transpose_any(const T* from, std::int64_t from_stride, std::int64_t rows,
                   std::int64_t columns, T* to, std::int64_t to_stride) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 16 / sizeof(T)> block;
  const auto side = static_cast<std::int64_t>(hn::Lanes(block));
  if (columns >= side && rows >= static_cast<std::int64_t>(hn::Lanes(d))) {
    return transpose_tiles(d, from, from_stride, rows, columns, to, to_stride);
  }
  if (columns >= side && rows >= side) {
    return transpose_tiles(block, from, from_stride, rows, columns, to,
                           to_stride);
  }
#endif
  // The longer loop within the shorter one.
  if (columns < rows) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) {
        to[j * to_stride + i] = from[i * from_stride + j];
      }
    }
  } else {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        to[j * to_stride + i] = from[i * from_stride + j];
      }
    }
  }
}

void transpose_f32(const float* from, std::int64_t from_stride,
                   std::int64_t rows, std::int64_t columns, float* to,
                   std::int64_t to_stride) {
  transpose_any(from, from_stride, rows, columns, to, to_stride);
}
void transpose_f64(const double* from, std::int64_t from_stride,
                   std::int64_t rows, std::int64_t columns, double* to,
                   std::int64_t to_stride) {
  transpose_any(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::losses::internal {

HWY_EXPORT(transpose_f32);
HWY_EXPORT(transpose_f64);

void transpose(const float* from, std::int64_t from_stride, std::int64_t rows,
               std::int64_t columns, float* to, std::int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_f32)
  (from, from_stride, rows, columns, to, to_stride);
}
void transpose(const double* from, std::int64_t from_stride, std::int64_t rows,
               std::int64_t columns, double* to, std::int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_f64)
  (from, from_stride, rows, columns, to, to_stride);
}

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
