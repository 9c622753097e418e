#include "tally/metrics/common/row_products.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <new>
#include <vector>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/common/row_products.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include "tally/metrics/common/load_wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::HWY_NAMESPACE {

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
// That many rows of y are a panel.
constexpr auto kWidth =
    kVectors * static_cast<std::int64_t>(hn::MaxLanes(Double()));

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

// Adds the products of kRows rows with a panel of y, `depth` terms of each. The
// terms of a row of x are kStep apart.
template <std::int64_t kStep>
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
  for (std::int64_t k = 0; k < depth; ++k, panel += kWidth) {
    const Vector y0 = hn::LoadU(d, panel);
    const Vector y1 = hn::LoadU(d, panel + lanes);
    const Vector y2 = hn::LoadU(d, panel + 2 * lanes);
    s0.add(x0[k * kStep], y0, y1, y2);
    s1.add(x1[k * kStep], y0, y1, y2);
    s2.add(x2[k * kStep], y0, y1, y2);
    s3.add(x3[k * kStep], y0, y1, y2);
  }
  s0.add_to(to[0]);
  s1.add_to(to[1]);
  s2.add_to(to[2]);
  s3.add_to(to[3]);
}

// Where the products of up to kRows rows with up to kWidth columns go.
struct Corner {
  double* to;
  std::int64_t stride, rows, columns;
};

// Adds the products of rows of x with a panel of y to those that are there.
// `from` has a row of x in place of those that `corner` has no room for.
template <std::int64_t kStep>
HWY_INLINE void add_corner(const double* const* from, const double* panel,
                           std::int64_t depth, const Corner& corner) {
  double* to[kRows];
  if (corner.rows >= kRows && corner.columns >= kWidth) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      to[i] = corner.to + i * corner.stride;
    }
    add_products<kStep>(from, panel, depth, to);
    return;
  }
  double aside[kRows * kWidth] = {};
  for (std::int64_t i = 0; i < kRows; ++i) to[i] = aside + i * kWidth;
  add_products<kStep>(from, panel, depth, to);
  for (std::int64_t i = 0; i < std::min(kRows, corner.rows); ++i) {
    double* const own = corner.to + i * corner.stride;
    for (std::int64_t j = 0; j < std::min(kWidth, corner.columns); ++j) {
      own[j] += to[i][j];
    }
  }
}

// Zeros; a vector of them is within a line of the cache.
hwy::AlignedFreeUniquePtr<double[]> lines_of_cache(std::int64_t size) {
  auto lines = hwy::AllocateAligned<double>(static_cast<std::size_t>(size));
  if (!lines) throw std::bad_alloc();
  std::fill_n(lines.get(), size, 0.0);
  return lines;
}

void products_of_target(const double* x, std::int64_t rows, const double* y,
                        std::int64_t columns, std::int64_t dims,
                        double* products) {
  // Side by side: rows of a power of two numbers would push each other out of
  // the cache.
  std::vector<double> part(static_cast<std::size_t>(rows * kDepth));
  const auto panel = lines_of_cache(kDepth * kWidth);
  std::fill_n(products, rows * columns, 0.0);
  for (std::int64_t first = 0; first < dims; first += kDepth) {
    const std::int64_t depth = std::min(kDepth, dims - first);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(x + row * dims + first, depth, part.data() + row * kDepth);
    }
    for (std::int64_t column = 0; column < columns; column += kWidth) {
      const std::int64_t some = std::min(kWidth, columns - column);
      // What is beside them stays 0, or is of an earlier panel.
      for (std::int64_t j = 0; j < some; ++j) {
        const double* const from = y + (column + j) * dims + first;
        for (std::int64_t k = 0; k < depth; ++k)
          panel[k * kWidth + j] = from[k];
      }
      for (std::int64_t row = 0; row < rows; row += kRows) {
        const double* from[kRows];
        for (std::int64_t i = 0; i < kRows; ++i) {
          from[i] = part.data() + std::min(row + i, rows - 1) * kDepth;
        }
        add_corner<1>(
            from, panel.get(), depth,
            {products + row * columns + column, columns, rows - row, some});
      }
    }
  }
}

// visit(d, i) for each vector of columns from `begin` on, then with vectors of
// one lane for the rest.
template <class Visit>
HWY_INLINE void for_columns(std::int64_t begin, std::int64_t end,
                            const Visit& visit) {
  const Double d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = begin;
  for (; i + lanes <= end; i += lanes) visit(d, i);
  for (; i < end; ++i) visit(hn::CappedTag<double, 1>(), i);
}

// Of `count` rows of `dims` numbers what mean_and_scatter() gives.
template <class T>
class Scatter {
 public:
  Scatter(const T* rows, std::int64_t count, std::int64_t dims)
      : rows_(rows),
        count_(count),
        dims_(dims),
        panels_((dims + kWidth - 1) / kWidth),
        first_(rows, rows + dims),
        moved_(static_cast<std::size_t>(dims)),
        part_(lines_of_cache(panels_ * kPanel)) {}

  void write(double* mean, double* scatter) {
    in_panels(count_, [&](std::int64_t begin, std::int64_t end) {
      add_rows(begin, end);
    });
    for (double& moved : moved_) moved /= static_cast<double>(count_);
    std::fill_n(scatter, dims_ * dims_, 0.0);
    for (std::int64_t row = 0; row < count_; row += kDepth) {
      const std::int64_t depth = std::min(kDepth, count_ - row);
      in_panels(depth, [&](std::int64_t begin, std::int64_t end) {
        fill(begin * kWidth, std::min(end * kWidth, dims_), row, depth);
      });
      // A panel from either end is as much work as any two.
      const std::int64_t pairs = (panels_ + 1) / 2;
      at::parallel_for(0, pairs, 1 + kGrain / (depth * dims_),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t pair = begin; pair < end; ++pair) {
                           const std::int64_t other = panels_ - 1 - pair;
                           add_panel(pair, depth, scatter);
                           if (other != pair) add_panel(other, depth, scatter);
                         }
                       });
    }
    mirror(scatter);
    for (std::int64_t i = 0; i < dims_; ++i) mean[i] = first_[i] + moved_[i];
  }

 private:
  static constexpr std::int64_t kGrain = 32768;
  static constexpr std::int64_t kPanel = kDepth * kWidth;

  template <class Visit>
  void in_panels(std::int64_t rows, const Visit& visit) const {
    at::parallel_for(0, panels_, 1 + kGrain / (rows * kWidth), visit);
  }

  // The deviations of a row from the first.
  template <class D>
  hn::Vec<D> moved(D d, const T* row, std::int64_t i) const {
    return hn::Sub(load_wide(d, row + i), hn::LoadU(d, first_.data() + i));
  }

  void add_rows(std::int64_t begin, std::int64_t end) {
    const std::int64_t last = std::min(end * kWidth, dims_);
    for (std::int64_t k = 0; k < count_; ++k) {
      for_columns(begin * kWidth, last, [&](auto d, std::int64_t i) {
        double* const sum = moved_.data() + i;
        hn::StoreU(hn::Add(hn::LoadU(d, sum), moved(d, rows_ + k * dims_, i)),
                   d, sum);
      });
    }
  }

  // Deviations from the mean, panel by panel. What is behind the last column
  // stays 0.
  void fill(std::int64_t begin, std::int64_t end, std::int64_t row,
            std::int64_t depth) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const T* const from = rows_ + (row + k) * dims_;
      for_columns(begin, end, [&](auto d, std::int64_t i) {
        hn::StoreU(
            hn::Sub(moved(d, from, i), hn::LoadU(d, moved_.data() + i)), d,
            part_.get() + (i / kWidth) * kPanel + k * kWidth + i % kWidth);
      });
    }
  }

  // The products with a panel's columns, on and above the diagonal.
  void add_panel(std::int64_t panel, std::int64_t depth, double* scatter) {
    const std::int64_t column = panel * kWidth;
    const std::int64_t rows = std::min(dims_, column + kWidth);
    for (std::int64_t row = 0; row < rows; row += kRows) {
      const double* from[kRows];
      for (std::int64_t i = 0; i < kRows; ++i) {
        const std::int64_t own = std::min(row + i, dims_ - 1);
        from[i] = part_.get() + (own / kWidth) * kPanel + own % kWidth;
      }
      add_corner<kWidth>(
          from, part_.get() + panel * kPanel, depth,
          {scatter + row * dims_ + column, dims_, dims_ - row, dims_ - column});
    }
  }

  void mirror(double* scatter) const {
    constexpr std::int64_t kSide = 32;
    for (std::int64_t row = 0; row < dims_; row += kSide) {
      for (std::int64_t column = row; column < dims_; column += kSide) {
        const std::int64_t end = std::min(column + kSide, dims_);
        for (std::int64_t i = row; i < std::min(row + kSide, dims_); ++i) {
          for (std::int64_t j = std::max(column, i + 1); j < end; ++j) {
            scatter[j * dims_ + i] = scatter[i * dims_ + j];
          }
        }
      }
    }
  }

  const T* rows_;
  std::int64_t count_, dims_, panels_;
  // The first row, and how far the mean is from it.
  std::vector<double> first_, moved_;
  // Deviations of kDepth rows.
  hwy::AlignedFreeUniquePtr<double[]> part_;
};

void ScatterOfFloats(const float* rows, std::int64_t count, std::int64_t dims,
                     double* mean, double* scatter) {
  Scatter<float>(rows, count, dims).write(mean, scatter);
}
void ScatterOfDoubles(const double* rows, std::int64_t count, std::int64_t dims,
                      double* mean, double* scatter) {
  Scatter<double>(rows, count, dims).write(mean, scatter);
}

}  // namespace tally::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal {

HWY_EXPORT(products_of_target);
HWY_EXPORT(ScatterOfFloats);
HWY_EXPORT(ScatterOfDoubles);

void row_products(const double* x, std::int64_t rows, const double* y,
                  std::int64_t columns, std::int64_t dims, double* products) {
  HWY_DYNAMIC_DISPATCH(products_of_target)
  (x, rows, y, columns, dims, products);
}

void mean_and_scatter(const float* rows, std::int64_t count, std::int64_t dims,
                      double* mean, double* scatter) {
  HWY_DYNAMIC_DISPATCH(ScatterOfFloats)(rows, count, dims, mean, scatter);
}
void mean_and_scatter(const double* rows, std::int64_t count, std::int64_t dims,
                      double* mean, double* scatter) {
  HWY_DYNAMIC_DISPATCH(ScatterOfDoubles)(rows, count, dims, mean, scatter);
}

}  // namespace tally::internal
#endif  // HWY_ONCE
