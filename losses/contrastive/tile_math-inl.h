// What the kernels have in common, once for each vector target: to be included
// behind <hwy/foreach_target.h>.

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

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

// exp(x) for x up to about 1, within 2 ulp; 0 where that is subnormal. NaN
// stays NaN. Cephes' reduction and polynomial.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_below_one(const D d, const V x, float /*type*/) {
  const hn::RebindToSigned<D> di;
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
  const V result = hn::Mul(p, hn::BitCast(d, exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33f)), result);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_below_one(const D d, const V x, double /*type*/) {
  // Highway's loses a NaN.
  return hn::IfThenElse(hn::Eq(x, x), hn::Exp(d, x), x);
}
template <class T>
HWY_INLINE Vector<T> exp_below_one(const Vector<T> x) {
  return exp_below_one(Tag<T>(), x, T());
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

// A vector of a row, or what is left of it behind its last whole vector: then
// -infinity fills it up.
template <bool kWhole, class T>
HWY_INLINE Vector<T> load(const T* q, std::int64_t left) {
  const Tag<T> d;
  if (kWhole) return hn::LoadU(d, q);
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(left));
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, q), hn::Set(d, kNone<T>));
}

// Does not touch what is behind the row.
template <bool kWhole, class T>
HWY_INLINE void store(const Vector<T> value, T* q, std::int64_t left) {
  const Tag<T> d;
  if (kWhole) return hn::StoreU(value, d, q);
  hn::BlendedStore(value, hn::FirstN(d, static_cast<std::size_t>(left)), d, q);
}

// Calls step.run<true>(j) for each whole vector, run<false>(j) for the rest.
template <class T, class Step>
HWY_INLINE void for_each_vector(std::int64_t columns, Step& step) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  std::int64_t j = 0;
  for (; j + lanes <= columns; j += lanes) step.template run<true>(j);
  if (j < columns) step.template run<false>(j);
}

template <class T>
HWY_INLINE T sum(const Vector<T> v) {
  return hn::GetLane(hn::SumOfLanes(Tag<T>(), v));
}

// What a running sum is worth after its maximum has grown.
template <class T>
T rescale(T before, T after) {
  if (before == kNone<T>) return 0;
  return std::exp(before - after);
}

template <class T>
struct MaxStep {
  const T* q;
  std::int64_t columns;
  Vector<T> scale;
  T* column_max;
  Vector<T> row_max = hn::Set(Tag<T>(), kNone<T>);

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j) {
    const Tag<T> d;
    const Vector<T> raw = load<kWhole>(q + j, columns - j);
    Vector<T> t = hn::Mul(raw, scale);
    if (!kWhole) {
      t = hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(columns - j)),
                         t, hn::Set(d, kNone<T>));
    }
    row_max = hn::Max(row_max, t);
    if (column_max != nullptr) {
      hn::StoreU(hn::Max(hn::LoadU(d, column_max + j), t), d, column_max + j);
    }
  }
};

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
