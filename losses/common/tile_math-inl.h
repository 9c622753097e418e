// Common parts of the kernels, compiled once per vector target: include after
// <hwy/foreach_target.h>.

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#if defined(TALLY_LOSSES_TILE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TALLY_LOSSES_TILE_MATH_INL_H_
#undef TALLY_LOSSES_TILE_MATH_INL_H_
#else
#define TALLY_LOSSES_TILE_MATH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

template <class T>
constexpr T kNone = -std::numeric_limits<T>::infinity();

// exp(x) for x up to 0, within 2 ulp, but not less than about 1e-38. 1 above 0:
// recomputed products may be slightly larger than the largest one was.
// Propagates NaN. Cephes' reduction and polynomial.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_up_to_one(const D d, const V unbounded, float /*type*/) {
  const hn::RebindToSigned<D> di;
  // In this order: the second argument wins if one is NaN.
  const V x = hn::Min(hn::Zero(d), hn::Max(hn::Set(d, -87.33f), unbounded));
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504088896341f)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0f)));
  const auto exponent =
      hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  return hn::Mul(p, hn::BitCast(d, exponent));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_up_to_one(const D d, const V unbounded, double /*type*/) {
  const V x = hn::Min(hn::Zero(d), unbounded);
  // Highway's exp loses NaN.
  return hn::IfThenElse(hn::Eq(x, x), hn::Exp(d, x), x);
}
template <class T>
HWY_INLINE Vector<T> exp_up_to_one(const Vector<T> x) {
  return exp_up_to_one(Tag<T>(), x, T());
}

constexpr bool kIsAvx2OrBetter = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2;

// The same where other targets' minimum and maximum drop NaN.
template <class T>
HWY_INLINE Vector<T> exp_or_nan(const Vector<T> x) {
  if (kIsAvx2OrBetter) return exp_up_to_one<T>(x);
  return hn::IfThenElse(hn::IsNaN(x), x, exp_up_to_one<T>(x));
}

template <class T>
std::int64_t lanes() {
  return static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
}

// log(1 + e) for e from 0 to 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p_of_part(const D d, const V e, float /*type*/) {
  const V u = hn::Div(e, hn::Add(e, hn::Set(d, 2.0f)));
  const V v = hn::Mul(u, u);
  V p = hn::Set(d, 2.0f / 13);
  p = hn::MulAdd(p, v, hn::Set(d, 2.0f / 11));
  p = hn::MulAdd(p, v, hn::Set(d, 2.0f / 9));
  p = hn::MulAdd(p, v, hn::Set(d, 2.0f / 7));
  p = hn::MulAdd(p, v, hn::Set(d, 2.0f / 5));
  p = hn::MulAdd(p, v, hn::Set(d, 2.0f / 3));
  return hn::MulAdd(hn::Mul(p, v), u, hn::Add(u, u));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p_of_part(const D d, const V e, double /*type*/) {
  return hn::Log1p(d, e);
}

// A vector of a row, padded with zeros after its last full vector. Other
// targets read what they mask out, too, and some of them aligned.
template <bool kWhole, class T>
HWY_INLINE Vector<T> load(const T* q, std::int64_t left) {
  const Tag<T> d;
  if (kWhole || left >= lanes<T>()) return hn::LoadU(d, q);
  if (kIsAvx2OrBetter) {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(left)), d, q);
  }
  HWY_ALIGN T values[hn::MaxLanes(Tag<T>())] = {};
  for (std::int64_t i = 0; i < left; ++i) values[i] = q[i];
  return hn::Load(d, values);
}

// Leaves what is masked out to other threads, which may write it: other targets
// would write it as they have read it.
template <class T>
HWY_INLINE void store_where(const hn::Mask<Tag<T>> mask, const Vector<T> value,
                            T* q) {
  const Tag<T> d;
  if (kIsAvx2OrBetter) return hn::BlendedStore(value, mask, d, q);
  HWY_ALIGN T values[hn::MaxLanes(Tag<T>())], is_in[hn::MaxLanes(Tag<T>())];
  hn::Store(value, d, values);
  hn::Store(hn::IfThenElseZero(mask, hn::Set(d, T(1))), d, is_in);
  for (std::int64_t i = 0; i < lanes<T>(); ++i) {
    if (is_in[i] != 0) q[i] = values[i];
  }
}

// What of it is in the row.
template <class T>
HWY_INLINE void store_in_row(const Vector<T> value, T* q, std::int64_t left) {
  const Tag<T> d;
  if (left >= lanes<T>()) return hn::StoreU(value, d, q);
  store_where(hn::FirstN(d, static_cast<std::size_t>(left)), value, q);
}

template <bool kWhole, class T>
HWY_INLINE void store(const Vector<T> value, const hn::Mask<Tag<T>> mask,
                      T* q) {
  if (kWhole) return hn::StoreU(value, Tag<T>(), q);
  store_where(mask, value, q);
}

// 0 where masked out.
template <bool kWhole, class T>
HWY_INLINE Vector<T> only(const hn::Mask<Tag<T>> mask, const Vector<T> value) {
  return kWhole ? value : hn::IfThenElseZero(mask, value);
}

// Calls step.run<true>(j, all) for each full vector, run<false>(j, mask) for
// the rest after the last one and for the vector with the excluded column.
template <class T, class Step>
HWY_INLINE void for_each_vector(std::int64_t columns, std::int64_t left_out,
                                Step& step) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto all = hn::FirstN(d, hn::Lanes(d));
  std::int64_t j = 0;
  if (left_out >= 0 && left_out < columns) {
    for (; j + lanes <= left_out; j += lanes) step.template run<true>(j, all);
    const auto behind =
        hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, columns - j)));
    step.template run<false>(
        j, hn::And(behind, hn::Ne(hn::Iota(d, T(0)),
                                  hn::Set(d, static_cast<T>(left_out - j)))));
    j += lanes;
  }
  for (; j + lanes <= columns; j += lanes) step.template run<true>(j, all);
  if (j >= columns) return;
  step.template run<false>(
      j, hn::FirstN(d, static_cast<std::size_t>(columns - j)));
}

template <class T>
HWY_INLINE T sum(const Vector<T> v) {
  return hn::GetLane(hn::SumOfLanes(Tag<T>(), v));
}

// What a sum of exp(scale * (q - max)) is times after its maximum has grown.
inline double rescale(double scale, double before, double after) {
  return std::exp(scale * (before - after));
}

// The largest product of the row, and of each column if there are any.
template <class T, bool kColumns>
struct MaxStep {
  const T* q;
  std::int64_t columns;
  T* column_max;
  Vector<T> row_max = hn::Set(Tag<T>(), kNone<T>);

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j, hn::Mask<Tag<T>> mask) {
    const Tag<T> d;
    Vector<T> value = load<kWhole>(q + j, columns - j);
    if (!kWhole) value = hn::IfThenElse(mask, value, hn::Set(d, kNone<T>));
    row_max = hn::Max(row_max, value);
    if (!kColumns) return;
    hn::StoreU(hn::Max(hn::LoadU(d, column_max + j), value), d, column_max + j);
  }
};

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
