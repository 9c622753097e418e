// Windows in which two planes are constant, compiled once per vector target:
// include after <hwy/foreach_target.h>.

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "tally/metrics/image/kernels/ssim_kernels.h"

#if defined(TALLY_METRICS_FLAT_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TALLY_METRICS_FLAT_WINDOWS_INL_H_
#undef TALLY_METRICS_FLAT_WINDOWS_INL_H_
#else
#define TALLY_METRICS_FLAT_WINDOWS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tally::internal::image::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Follows Bands down the planes: of each column, in which row a value was last
// different from the next one, and from the one above, and not 0.
template <class T>
class FlatWindows {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;

 public:
  static constexpr int kRows = 3;

  // Three rows of `stride`, each longer than the planes are wide by at least a
  // window and a vector.
  FlatWindows(const SsimPlanes<T>& planes, std::int64_t size, T* rows,
              std::int64_t stride)
      : planes_(planes),
        size_(size),
        across_(rows),
        down_(rows + stride),
        lit_(rows + 2 * stride) {
    std::fill_n(rows, kRows * stride, T{-1});
  }

  // REQUIRES: rows in order.
  HWY_INLINE void load(std::int64_t row) {
    const D d;
    const std::int64_t width = planes_.width;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const T* const x = planes_.x + row * width;
    const T* const y = planes_.y + row * width;
    const std::int64_t up = row > 0 ? width : 0;
    const T number = static_cast<T>(row);
    const V here = hn::Set(d, number), zero = hn::Zero(d);
    std::int64_t c = 0;
    for (; c + lanes < width; c += lanes) {
      const V a = hn::LoadU(d, x + c), b = hn::LoadU(d, y + c);
      const auto mark = [&](V next_a, V next_b, T* last) HWY_ATTR {
        const M differs = hn::Or(hn::Ne(a, next_a), hn::Ne(b, next_b));
        hn::StoreU(hn::IfThenElse(differs, here, hn::LoadU(d, last + c)), d,
                   last + c);
      };
      mark(hn::LoadU(d, x + c + 1), hn::LoadU(d, y + c + 1), across_);
      mark(hn::LoadU(d, x + c - up), hn::LoadU(d, y + c - up), down_);
      mark(zero, zero, lit_);
    }
    for (; c < width; ++c) {
      if (c + 1 < width && (x[c] != x[c + 1] || y[c] != y[c + 1])) {
        across_[c] = number;
      }
      if (x[c] != x[c - up] || y[c] != y[c - up]) down_[c] = number;
      if (x[c] != 0 || y[c] != 0) lit_[c] = number;
    }
  }

  // Of the windows that begin in row `row` and from column `c` on.
  HWY_INLINE M is_flat(std::int64_t row, std::int64_t c) const {
    const D d;
    const V first = hn::Set(d, static_cast<T>(row));
    V last = hn::Set(d, T{-1});
    for (std::int64_t k = 0; k + 1 < size_; ++k) {
      last = hn::Max(last, hn::LoadU(d, across_ + c + k));
    }
    return hn::And(hn::Lt(last, first), hn::Le(hn::LoadU(d, down_ + c), first));
  }
  // Whether those that are flat are 0.
  HWY_INLINE M is_black(std::int64_t row, std::int64_t c) const {
    const D d;
    return hn::Lt(hn::LoadU(d, lit_ + c), hn::Set(d, static_cast<T>(row)));
  }

 private:
  const SsimPlanes<T>& planes_;
  std::int64_t size_;
  T *across_, *down_, *lit_;
};

}  // namespace tally::internal::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
