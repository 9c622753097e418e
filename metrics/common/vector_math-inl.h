// Logarithms and exponentials of float64 vectors, compiled once per vector
// target: include after <hwy/foreach_target.h>.

#include <hwy/highway.h>

#include <cstdint>

#if defined(TALLY_METRICS_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TALLY_METRICS_VECTOR_MATH_INL_H_
#undef TALLY_METRICS_VECTOR_MATH_INL_H_
#else
#define TALLY_METRICS_VECTOR_MATH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tally::internal::regression::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Double = hn::ScalableTag<double>;
using Vector = hn::Vec<Double>;
using Mask = hn::Mask<Double>;
using Bits = hn::RebindToUnsigned<Double>;

HWY_INLINE Vector set(double value) { return hn::Set(Double(), value); }
HWY_INLINE Mask all_lanes() {
  return hn::Eq(hn::Zero(Double()), hn::Zero(Double()));
}

// The domain of log_ratio: numbers from 2^-500 to 2^500.
constexpr double kLeast = 0x1p-500;
constexpr double kMost = 0x1p500;

HWY_INLINE Mask in_range(const Vector a) {
  return hn::And(hn::Ge(a, set(kLeast)), hn::Le(a, set(kMost)));
}

// log((1 + s) / (1 - s)) for |s| up to 0.214: 2 s, plus s^3 times a minimax
// polynomial of s^2 (error 1e-16).
HWY_INLINE Vector log_of_quotient(const Vector s) {
  const Vector z = hn::Mul(s, s);
  const Vector z2 = hn::Mul(z, z);
  const Vector p01 =
      hn::MulAdd(z, set(0.40000000000020566138), set(0.66666666666666659305));
  const Vector p23 =
      hn::MulAdd(z, set(0.2222222386136790153), set(0.2857142856201426024));
  const Vector p45 =
      hn::MulAdd(z, set(0.15391071831913134668), set(0.18181678334883601908));
  const Vector p67 =
      hn::MulAdd(z, set(0.13898569668044620642), set(0.13169311774830560854));
  const Vector low = hn::MulAdd(z2, p23, p01);
  const Vector high = hn::MulAdd(z2, p67, p45);
  const Vector p = hn::MulAdd(hn::Mul(z2, z2), high, low);
  return hn::Mul(s, hn::MulAdd(z, p, set(2.0)));
}

// a = 2^k scaled, with scaled / b from 2/3 to 3/2.
struct ScaledLike {
  Vector k, scaled;
};

// REQUIRES: in_range of both.
HWY_INLINE ScaledLike scale_like(const Vector a, const Vector b) {
  const Double d;
  // The difference of the bits is that of the logarithms to within a tenth.
#if HWY_TARGET <= HWY_AVX3
  const hn::RebindToSigned<Double> i;
  const auto bits_a = hn::BitCast(i, a);
  const auto difference = hn::Add(hn::Sub(bits_a, hn::BitCast(i, b)),
                                  hn::Set(i, std::int64_t{1} << 51));
  const auto power = hn::And(
      difference, hn::Set(i, static_cast<std::int64_t>(0xfffull << 52)));
  return {hn::ConvertTo(d, hn::ShiftRight<52>(difference)),
          hn::BitCast(d, hn::Sub(bits_a, power))};
#else
  // Other targets have no signed 64-bit shift, and no conversion.
  const Bits u;
  const auto bits_a = hn::BitCast(u, a);
  const auto bias = hn::Set(u, std::uint64_t{1024} << 52);
  const auto biased = hn::Add(
      hn::Sub(bits_a, hn::BitCast(u, b)),
      hn::Set(u, (std::uint64_t{1024} << 52) + (std::uint64_t{1} << 51)));
  const auto power = hn::And(biased, hn::Set(u, std::uint64_t{0xfff} << 52));
  const auto number =
      hn::Or(hn::ShiftRight<52>(biased), hn::BitCast(u, set(0x1p52)));
  return {hn::Sub(hn::BitCast(d, number), set(0x1p52 + 1024)),
          hn::BitCast(d, hn::Sub(hn::Add(bits_a, bias), power))};
#endif
}

HWY_INLINE Vector log_of_scaled(const Vector k, const Vector difference,
                                const Vector sum) {
  return hn::MulAdd(k, set(6.93147180559945286227e-01),
                    log_of_quotient(hn::Div(difference, sum)));
}

// log(a / b) within 4 ulp, with one division. REQUIRES: in_range of both.
HWY_INLINE Vector log_ratio(const Vector a, const Vector b) {
  const ScaledLike s = scale_like(a, b);
  return log_of_scaled(s.k, hn::Sub(s.scaled, b), hn::Add(s.scaled, b));
}
// The same; `difference` is a - b, more accurate than computed from a and b.
HWY_INLINE Vector log_ratio(const Vector a, const Vector b,
                            const Vector difference) {
  const ScaledLike s = scale_like(a, b);
  const Vector numerator = hn::IfThenElse(hn::Eq(s.k, hn::Zero(Double())),
                                          difference, hn::Sub(s.scaled, b));
  return log_of_scaled(s.k, numerator, hn::Add(s.scaled, b));
}

// exp(x) - 1 within 2 ulp, for x from -700 to 700.
HWY_INLINE Vector exp_less_one(const Vector x) {
  const Double d;
  const Bits u;
  const Vector shift = set(0x1.8p52);
  const Vector shifted =
      hn::MulAdd(x, set(1.44269504088896338700e+00), shift);  // n
  const Vector n = hn::Sub(shifted, shift);
  Vector r = hn::NegMulAdd(n, set(6.93147180369123816490e-01), x);
  r = hn::NegMulAdd(n, set(1.90821492927058770002e-10), r);
  // (exp(r) - 1 - r) / r^2, for |r| up to log(2) / 2.
  const Vector r2 = hn::Mul(r, r);
  const Vector r4 = hn::Mul(r2, r2);
  const Vector p01 =
      hn::MulAdd(r, set(0.16666666666666667453), set(0.50000000000000010221));
  const Vector p23 = hn::MulAdd(r, set(0.0083333333333300618325),
                                set(0.041666666666624127873));
  const Vector p45 = hn::MulAdd(r, set(0.00019841269863053616878),
                                set(0.0013888888917213716901));
  const Vector p67 = hn::MulAdd(r, set(2.7557268459997064772e-6),
                                set(0.000024801521295954375));
  const Vector p89 = hn::MulAdd(r, set(2.5100385495510319078e-8),
                                set(2.7620088445409748161e-7));
  const Vector low = hn::MulAdd(r2, p23, p01);
  const Vector middle = hn::MulAdd(r2, p67, p45);
  const Vector rest = hn::MulAdd(r4, hn::MulAdd(r4, p89, middle), low);
  const Vector less_one = hn::MulAdd(r2, rest, r);
  const Vector power =
      hn::BitCast(d, hn::Add(hn::ShiftLeft<52>(hn::BitCast(u, shifted)),
                             hn::BitCast(u, set(1.0))));  // 2^n
  return hn::MulAdd(power, less_one, hn::Sub(power, set(1.0)));
}

HWY_INLINE Vector load(const float* from) {
  return hn::PromoteTo(Double(), hn::LoadU(hn::Rebind<float, Double>(), from));
}
HWY_INLINE Vector load(const double* from) { return hn::LoadU(Double(), from); }
HWY_INLINE Vector load(const std::int64_t* from) {
  return hn::ConvertTo(Double(),
                       hn::LoadU(hn::Rebind<std::int64_t, Double>(), from));
}

HWY_INLINE double total(const Vector v) {
  return hn::GetLane(hn::SumOfLanes(Double(), v));
}

}  // namespace tally::internal::regression::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
