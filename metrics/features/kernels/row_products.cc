#include "tally/metrics/features/kernels/row_products.h"

#include <algorithm>
#include <vector>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/features/kernels/row_products.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::features::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Double = hn::ScalableTag<double>;
using Vector = hn::Vec<Double>;

// Terms that are added up, one after the other, before they are added to those
// before them.
constexpr std::int64_t kDepth = 128;
// Rows of x at a time, and vectors of rows of y: as many sums as all processors
// have registers for.
constexpr std::int64_t kRows = 4;
constexpr std::int64_t kVectors = 3;

// The sums of a row of x with kVectors vectors of rows of y.
struct Sums {
  Vector a, b, c;

  HWY_INLINE void add(double x, const Vector y0, const Vector y1,
                      const Vector y2) {
    const Vector factor = hn::Set(Double(), x);
    a = hn::MulAdd(factor, y0, a);
    b = hn::MulAdd(factor, y1, b);
    c = hn::MulAdd(factor, y2, c);
  }
  HWY_INLINE void add_to(double* to) const {
    const Double d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    hn::StoreU(hn::Add(hn::LoadU(d, to), a), d, to);
    hn::StoreU(hn::Add(hn::LoadU(d, to + lanes), b), d, to + lanes);
    hn::StoreU(hn::Add(hn::LoadU(d, to + 2 * lanes), c), d, to + 2 * lanes);
  }
};

// Adds the products of kRows rows with a panel of y, `depth` terms of each.
HWY_INLINE void add_products(const double* const* x,
                             const double* HWY_RESTRICT panel,
                             std::int64_t depth, double* const* to) {
  static_assert(kRows == 4 && kVectors == 3, "one sum for each of them");
  const Double d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const double* const x0 = x[0];
  const double* const x1 = x[1];
  const double* const x2 = x[2];
  const double* const x3 = x[3];
  const Vector zero = hn::Zero(d);
  Sums s0{zero, zero, zero}, s1 = s0, s2 = s0, s3 = s0;
  for (std::int64_t k = 0; k < depth; ++k, panel += kVectors * lanes) {
    const Vector y0 = hn::LoadU(d, panel);
    const Vector y1 = hn::LoadU(d, panel + lanes);
    const Vector y2 = hn::LoadU(d, panel + 2 * lanes);
    s0.add(x0[k], y0, y1, y2);
    s1.add(x1[k], y0, y1, y2);
    s2.add(x2[k], y0, y1, y2);
    s3.add(x3[k], y0, y1, y2);
  }
  s0.add_to(to[0]);
  s1.add_to(to[1]);
  s2.add_to(to[2]);
  s3.add_to(to[3]);
}

void products_of_target(const double* x, std::int64_t rows, const double* y,
                        std::int64_t columns, std::int64_t dims,
                        double* products) {
  const auto width = kVectors * static_cast<std::int64_t>(hn::Lanes(Double()));
  // Side by side: rows of a power of two numbers would push each other out of
  // the cache.
  std::vector<double> part(static_cast<std::size_t>(rows * kDepth));
  std::vector<double> panel(static_cast<std::size_t>(kDepth * width));
  // Of kRows rows, where there is room for whole panels.
  std::vector<double> aside(static_cast<std::size_t>(kRows * width));
  std::fill_n(products, rows * columns, 0.0);
  for (std::int64_t first = 0; first < dims; first += kDepth) {
    const std::int64_t depth = std::min(kDepth, dims - first);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(x + row * dims + first, depth, part.data() + row * kDepth);
    }
    for (std::int64_t column = 0; column < columns; column += width) {
      const std::int64_t some = std::min(width, columns - column);
      // What is beside them stays 0, or is of an earlier panel.
      for (std::int64_t j = 0; j < some; ++j) {
        const double* const from = y + (column + j) * dims + first;
        for (std::int64_t k = 0; k < depth; ++k) panel[k * width + j] = from[k];
      }
      for (std::int64_t row = 0; row < rows; row += kRows) {
        const double* from[kRows];
        double* to[kRows];
        const bool fits = some == width && row + kRows <= rows;
        for (std::int64_t i = 0; i < kRows; ++i) {
          from[i] = part.data() + std::min(row + i, rows - 1) * kDepth;
          to[i] = fits ? products + (row + i) * columns + column
                       : aside.data() + i * width;
        }
        if (fits) {
          add_products(from, panel.data(), depth, to);
          continue;
        }
        std::fill(aside.begin(), aside.end(), 0.0);
        add_products(from, panel.data(), depth, to);
        for (std::int64_t i = 0; i < kRows && row + i < rows; ++i) {
          double* const own = products + (row + i) * columns + column;
          for (std::int64_t j = 0; j < some; ++j) own[j] += to[i][j];
        }
      }
    }
  }
}

}  // namespace tally::internal::features::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::features {

HWY_EXPORT(products_of_target);

void row_products(const double* x, std::int64_t rows, const double* y,
                  std::int64_t columns, std::int64_t dims, double* products) {
  HWY_DYNAMIC_DISPATCH(products_of_target)
  (x, rows, y, columns, dims, products);
}

}  // namespace tally::internal::features
#endif  // HWY_ONCE
