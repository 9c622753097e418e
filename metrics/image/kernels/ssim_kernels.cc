#include "tally/metrics/image/kernels/ssim_kernels.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/image/kernels/ssim_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "tally/metrics/image/kernels/flat_windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::image::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums over windows of a vector of windows.
template <class V>
struct Moments {
  V p, m, pp, mm;
};

template <class V>
struct Scores {
  V luminance, contrast, p_mean, m_mean, inverse_luminance, inverse_contrast,
      m_variance;
};

// Works down the planes, a row of windows at a time. All rows of the scratch
// have zeros to the right of what they hold, as many as a window and a vector.
template <class T>
class Bands {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

 public:
  Bands(const SsimPlanes<T>& planes, const SsimWindow& window,
        SsimScratch<T>& scratch, int maps)
      : planes_(planes),
        size_(window.size),
        taps_(window.taps, window.taps + window.size),
        windows_high_(planes.height - size_ + 1),
        windows_wide_(planes.width - size_ + 1),
        lanes_(static_cast<std::int64_t>(hn::Lanes(D()))),
        stride_((planes.width / lanes_ + 2) * lanes_ + 2 * size_),
        c1_(static_cast<T>(2 * window.c1)),
        c2_(static_cast<T>(2 * window.c2)),
        scale_(planes.x_shift + planes.y_shift),
        difference_(planes.x_shift - planes.y_shift) {
    const std::int64_t flat_rows = window.has_flat ? FlatWindows<T>::kRows : 0;
    const std::int64_t rows = 2 * size_ + 4 + maps * (size_ + 1) + flat_rows;
    scratch.assign(static_cast<std::size_t>(rows * stride_), T{0});
    T* next = scratch.data();
    const auto take = [&](std::int64_t count) {
      T* const taken = next;
      next += count * stride_;
      return taken;
    };
    p_ = take(size_);
    m_ = take(size_);
    sums_ = take(4);
    map_ = take(maps);
    spread_ = take(maps * size_);
    rows_.resize(static_cast<std::size_t>(size_));
    if (flat_rows) flats_.emplace(planes_, size_, take(flat_rows), stride_);
  }

  std::int64_t windows_high() const { return windows_high_; }

  // Makes windows of row `row` available. REQUIRES: rows in order.
  HWY_INLINE void go_to(std::int64_t row, bool is_first) {
    for (std::int64_t i = is_first ? row : row + size_ - 1; i < row + size_;
         ++i) {
      load(i);
      if (flats_) flats_->load(i);
    }
    row_ = row;
    sum_columns(row);
  }

  HWY_INLINE SsimSums scores() const {
    const D d;
    V similarity = hn::Zero(d), contrast = similarity;
    for (std::int64_t c = 0; c < windows_wide_; c += lanes_) {
      const auto s = scores_at(moments_at(c), c);
      const auto inside = first(windows_wide_ - c);
      similarity =
          hn::Add(similarity,
                  hn::IfThenElseZero(inside, hn::Mul(s.luminance, s.contrast)));
      contrast = hn::Add(contrast, hn::IfThenElseZero(inside, s.contrast));
    }
    return {static_cast<double>(hn::GetLane(hn::SumOfLanes(d, similarity))),
            static_cast<double>(hn::GetLane(hn::SumOfLanes(d, contrast)))};
  }

  // What the windows of this row are worth to each of their pixels: to x, to
  // p^2 and m^2, and to y.
  template <bool kBoth>
  HWY_INLINE void spread(std::int64_t row, T similarity, T contrast) {
    const D d;
    const V one = hn::Set(d, T{1}), two = hn::Set(d, T{2});
    for (std::int64_t c = 0; c < windows_wide_; c += lanes_) {
      const Moments<V> at = moments_at(c);
      const Scores<V> s = scores_at(at, c);
      const V of_contrast =
          hn::MulAdd(hn::Set(d, similarity), s.luminance, hn::Set(d, contrast));
      const V of_luminance = hn::Mul(hn::Set(d, similarity), s.contrast);
      const V twice = hn::Mul(two, of_contrast);
      const V pp = hn::Mul(hn::Mul(twice, s.m_variance),
                           hn::Mul(s.inverse_contrast, s.inverse_contrast));
      const V mm = hn::NegMulAdd(twice, s.inverse_contrast, pp);
      const V ratio = hn::Mul(s.m_mean, s.inverse_luminance);
      const V factor = hn::Mul(hn::Mul(hn::Set(d, T{4}), of_luminance), ratio);
      const V p = hn::Sub(hn::Mul(factor, hn::Mul(ratio, s.p_mean)),
                          hn::Mul(hn::Mul(two, pp), at.p));
      const V m =
          hn::Sub(hn::Mul(factor, hn::Sub(hn::Mul(ratio, s.m_mean), one)),
                  hn::Mul(hn::Mul(two, mm), at.m));
      const auto inside = first(windows_wide_ - c);
      const auto put = [&](int map, V value) HWY_ATTR {
        hn::StoreU(hn::IfThenElseZero(inside, value), d,
                   map_ + map * stride_ + size_ - 1 + c);
      };
      put(0, hn::Add(p, m));
      put(1, pp);
      put(2, mm);
      if constexpr (kBoth) put(3, hn::Sub(p, m));
    }
    for (int map = 0; map < (kBoth ? 4 : 3); ++map) {
      const T* const from = map_ + map * stride_ + size_ - 1;
      T* const to = spread_row(map, row);
      for (std::int64_t c = 0; c < planes_.width; c += lanes_) {
        V sum = hn::Zero(d);
        for (std::int64_t k = 0; k < size_; ++k) {
          sum = hn::MulAdd(tap(k), hn::LoadU(d, from + c - k), sum);
        }
        hn::StoreU(sum, d, to + c);
      }
    }
  }

  // The gradient of row `row` of the planes, from all windows on it.
  template <bool kBoth>
  HWY_INLINE void gather(std::int64_t row, T* dx, T* dy) {
    const D d;
    const std::int64_t from =
        std::max<std::int64_t>(0, row - windows_high_ + 1);
    const std::int64_t to = std::min(size_ - 1, row);
    const T* const p = p_ + row % size_ * stride_;
    const T* const m = m_ + row % size_ * stride_;
    for (std::int64_t c = 0; c < planes_.width; c += lanes_) {
      V x = hn::Zero(d), pp = x, mm = x, y = x;
      for (std::int64_t k = from; k <= to; ++k) {
        const V weight = tap(k);
        const T* const at = spread_row(0, row - k) + c;
        const std::int64_t next = size_ * stride_;
        x = hn::MulAdd(weight, hn::LoadU(d, at), x);
        pp = hn::MulAdd(weight, hn::LoadU(d, at + next), pp);
        mm = hn::MulAdd(weight, hn::LoadU(d, at + 2 * next), mm);
        if constexpr (kBoth) {
          y = hn::MulAdd(weight, hn::LoadU(d, at + 3 * next), y);
        }
      }
      const V two = hn::Set(d, T{2});
      const V of_p = hn::Mul(hn::Mul(two, hn::LoadU(d, p + c)), pp);
      const V of_m = hn::Mul(hn::Mul(two, hn::LoadU(d, m + c)), mm);
      store(hn::Add(x, hn::Add(of_p, of_m)), dx + row * planes_.width, c);
      if constexpr (kBoth) {
        store(hn::Add(y, hn::Sub(of_p, of_m)), dy + row * planes_.width, c);
      }
    }
  }

 private:
  HWY_INLINE V tap(std::int64_t k) const {
    return hn::Set(D(), taps_[static_cast<std::size_t>(k)]);
  }
  HWY_INLINE hn::Mask<D> first(std::int64_t count) const {
    return hn::FirstN(D(), static_cast<std::size_t>(std::min(count, lanes_)));
  }
  HWY_INLINE T* spread_row(int map, std::int64_t row) const {
    return spread_ + (map * size_ + row % size_) * stride_;
  }
  HWY_INLINE void store(V value, T* to, std::int64_t c) const {
    const D d;
    if (c + lanes_ <= planes_.width) {
      hn::StoreU(value, d, to + c);
    } else {
      T lanes[hn::MaxLanes(D())];
      hn::StoreU(value, d, lanes);
      std::copy_n(lanes, planes_.width - c, to + c);
    }
  }

  // p and m of a row of the planes.
  HWY_INLINE void load(std::int64_t row) {
    const D d;
    const T* const x = planes_.x + row * planes_.width;
    const T* const y = planes_.y + row * planes_.width;
    T* const p = p_ + row % size_ * stride_;
    T* const m = m_ + row % size_ * stride_;
    const V x_shift = hn::Set(d, planes_.x_shift);
    const V y_shift = hn::Set(d, planes_.y_shift);
    std::int64_t c = 0;
    for (; c + lanes_ <= planes_.width; c += lanes_) {
      const V a = hn::Sub(hn::LoadU(d, x + c), x_shift);
      const V b = hn::Sub(hn::LoadU(d, y + c), y_shift);
      hn::StoreU(hn::Add(a, b), d, p + c);
      hn::StoreU(hn::Sub(a, b), d, m + c);
    }
    for (; c < planes_.width; ++c) {
      const T a = x[c] - planes_.x_shift, b = y[c] - planes_.y_shift;
      p[c] = a + b;
      m[c] = a - b;
    }
  }

  // The sums over the rows of the windows, of each column.
  HWY_INLINE void sum_columns(std::int64_t row) {
    const D d;
    for (std::int64_t k = 0; k < size_; ++k) {
      rows_[static_cast<std::size_t>(k)] = (row + k) % size_ * stride_;
    }
    for (std::int64_t c = 0; c < planes_.width; c += lanes_) {
      V sp = hn::Zero(d), sm = sp, spp = sp, smm = sp;
      for (std::int64_t k = 0; k < size_; ++k) {
        const std::int64_t at = rows_[static_cast<std::size_t>(k)] + c;
        const V weight = tap(k);
        const V p = hn::LoadU(d, p_ + at), m = hn::LoadU(d, m_ + at);
        const V weighted_p = hn::Mul(weight, p);
        const V weighted_m = hn::Mul(weight, m);
        sp = hn::Add(sp, weighted_p);
        sm = hn::Add(sm, weighted_m);
        spp = hn::MulAdd(weighted_p, p, spp);
        smm = hn::MulAdd(weighted_m, m, smm);
      }
      hn::StoreU(sp, d, sums_ + c);
      hn::StoreU(sm, d, sums_ + stride_ + c);
      hn::StoreU(spp, d, sums_ + 2 * stride_ + c);
      hn::StoreU(smm, d, sums_ + 3 * stride_ + c);
    }
  }

  HWY_INLINE Moments<V> moments_at(std::int64_t c) const {
    const D d;
    V p = hn::Zero(d), m = p, pp = p, mm = p;
    for (std::int64_t k = 0; k < size_; ++k) {
      const V weight = tap(k);
      const T* const at = sums_ + c + k;
      p = hn::MulAdd(weight, hn::LoadU(d, at), p);
      m = hn::MulAdd(weight, hn::LoadU(d, at + stride_), m);
      pp = hn::MulAdd(weight, hn::LoadU(d, at + 2 * stride_), pp);
      mm = hn::MulAdd(weight, hn::LoadU(d, at + 3 * stride_), mm);
    }
    return {p, m, pp, mm};
  }

  HWY_INLINE Scores<V> scores_at(const Moments<V>& at, std::int64_t c) const {
    const D d;
    const V one = hn::Set(d, T{1}), two = hn::Set(d, T{2});
    const V p = hn::Add(at.p, hn::Set(d, scale_));
    const V m = hn::Add(at.m, hn::Set(d, difference_));
    const V square = hn::Mul(m, m);
    V il = hn::Div(one, hn::MulAdd(p, p, hn::Add(square, hn::Set(d, c1_))));
    const V variance = hn::NegMulAdd(at.m, at.m, at.mm);
    V ic = hn::Div(one,
                   hn::Add(hn::Add(hn::NegMulAdd(at.p, at.p, at.pp), variance),
                           hn::Set(d, c2_)));
    if (flats_) {
      const auto flat = flats_->is_flat(row_, c);
      ic = hn::IfThenZeroElse(flat, ic);
      il = hn::IfThenZeroElse(hn::And(flat, flats_->is_black(row_, c)), il);
    }
    return {hn::NegMulAdd(hn::Mul(two, square), il, one),
            hn::NegMulAdd(hn::Mul(two, variance), ic, one),
            p,
            m,
            il,
            ic,
            variance};
  }

  const SsimPlanes<T>& planes_;
  std::int64_t size_;
  std::vector<T> taps_;
  std::int64_t windows_high_, windows_wide_, lanes_, stride_;
  T c1_, c2_, scale_, difference_;
  // Rows of p and m, each in the place of its number modulo the window's size.
  T *p_, *m_;
  // Of p, m, p^2 and m^2.
  T* sums_;
  // A row of what windows are worth, and such rows, spread over columns.
  T *map_, *spread_;
  std::vector<std::int64_t> rows_;
  std::int64_t row_ = 0;
  std::optional<FlatWindows<T>> flats_;
};

template <class T>
SsimSums rows_of(const SsimPlanes<T>& planes, const SsimWindow& window,
                 std::int64_t begin, std::int64_t end,
                 SsimScratch<T>& scratch) {
  Bands<T> bands(planes, window, scratch, 0);
  SsimSums sums;
  for (std::int64_t row = begin; row < end; ++row) {
    bands.go_to(row, row == begin);
    const SsimSums more = bands.scores();
    sums.similarity += more.similarity;
    sums.contrast += more.contrast;
  }
  return sums;
}

template <bool kBoth, class T>
void gradient_of(const SsimPlanes<T>& planes, const SsimWindow& window,
                 const SsimSums& weights, std::int64_t begin, std::int64_t end,
                 SsimScratch<T>& scratch, T* dx, T* dy) {
  Bands<T> bands(planes, window, scratch, kBoth ? 4 : 3);
  const std::int64_t from = std::max<std::int64_t>(0, begin - window.size + 1);
  for (std::int64_t row = from; row < end; ++row) {
    if (row < bands.windows_high()) {
      bands.go_to(row, row == from);
      bands.template spread<kBoth>(row, static_cast<T>(weights.similarity),
                                   static_cast<T>(weights.contrast));
    }
    if (row >= begin) bands.template gather<kBoth>(row, dx, dy);
  }
}

SsimSums float_rows(const SsimPlanes<float>& planes, const SsimWindow& window,
                    std::int64_t begin, std::int64_t end,
                    SsimScratch<float>& scratch) {
  return rows_of(planes, window, begin, end, scratch);
}
SsimSums double_rows(const SsimPlanes<double>& planes, const SsimWindow& window,
                     std::int64_t begin, std::int64_t end,
                     SsimScratch<double>& scratch) {
  return rows_of(planes, window, begin, end, scratch);
}
void float_gradient(const SsimPlanes<float>& planes, const SsimWindow& window,
                    const SsimSums& weights, std::int64_t begin,
                    std::int64_t end, SsimScratch<float>& scratch, float* dx,
                    float* dy) {
  dy ? gradient_of<true>(planes, window, weights, begin, end, scratch, dx, dy)
     : gradient_of<false>(planes, window, weights, begin, end, scratch, dx, dy);
}
void double_gradient(const SsimPlanes<double>& planes, const SsimWindow& window,
                     const SsimSums& weights, std::int64_t begin,
                     std::int64_t end, SsimScratch<double>& scratch, double* dx,
                     double* dy) {
  dy ? gradient_of<true>(planes, window, weights, begin, end, scratch, dx, dy)
     : gradient_of<false>(planes, window, weights, begin, end, scratch, dx, dy);
}

}  // namespace tally::internal::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::image {

HWY_EXPORT(float_rows);
HWY_EXPORT(double_rows);
HWY_EXPORT(float_gradient);
HWY_EXPORT(double_gradient);

SsimSums ssim_rows(const SsimPlanes<float>& planes, const SsimWindow& window,
                   std::int64_t begin, std::int64_t end,
                   SsimScratch<float>& scratch) {
  return HWY_DYNAMIC_DISPATCH(float_rows)(planes, window, begin, end, scratch);
}
SsimSums ssim_rows(const SsimPlanes<double>& planes, const SsimWindow& window,
                   std::int64_t begin, std::int64_t end,
                   SsimScratch<double>& scratch) {
  return HWY_DYNAMIC_DISPATCH(double_rows)(planes, window, begin, end, scratch);
}

void ssim_gradient_rows(const SsimPlanes<float>& planes,
                        const SsimWindow& window, const SsimSums& weights,
                        std::int64_t begin, std::int64_t end,
                        SsimScratch<float>& scratch, float* dx, float* dy) {
  HWY_DYNAMIC_DISPATCH(float_gradient)
  (planes, window, weights, begin, end, scratch, dx, dy);
}
void ssim_gradient_rows(const SsimPlanes<double>& planes,
                        const SsimWindow& window, const SsimSums& weights,
                        std::int64_t begin, std::int64_t end,
                        SsimScratch<double>& scratch, double* dx, double* dy) {
  HWY_DYNAMIC_DISPATCH(double_gradient)
  (planes, window, weights, begin, end, scratch, dx, dy);
}

}  // namespace tally::internal::image
#endif  // HWY_ONCE
