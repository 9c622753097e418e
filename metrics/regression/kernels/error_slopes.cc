#include "tally/metrics/regression/kernels/error_slopes.h"

#include <algorithm>
#include <type_traits>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/regression/kernels/error_slopes.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h, both.
#include <hwy/highway.h>

#include "tally/metrics/common/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::regression::HWY_NAMESPACE {

// The derivatives of an error by a prediction and by its target.
struct Slopes {
  Vector preds, target;
};

HWY_INLINE Vector sign(const Vector a) {
  return hn::IfThenElseZero(hn::Ne(a, hn::Zero(Double())),
                            hn::CopySign(set(1.0), a));
}

struct SquaredLogSlopes {
  HWY_INLINE Slopes slopes(const Vector p, const Vector t, Mask& usable) const {
    const Vector a = hn::Add(set(1.0), p);
    const Vector b = hn::Add(set(1.0), t);
    usable = hn::And(usable, hn::And(in_range(a), in_range(b)));
    const Vector log = log_ratio(a, b, hn::Sub(p, t));
    const Vector twice = hn::Add(log, log);
    return {hn::Div(twice, a), hn::Neg(hn::Div(twice, b))};
  }
};

struct LogCoshSlopes {
  // tanh(p - t)
  HWY_INLINE Slopes slopes(const Vector p, const Vector t, Mask&) const {
    const Vector x = hn::Sub(p, t);
    const Vector power = hn::Max(hn::Mul(set(-2.0), hn::Abs(x)), set(-700.0));
    const Vector v = exp_less_one(power);
    const Vector tanh = hn::CopySign(hn::Div(v, hn::Add(set(2.0), v)), x);
    return {tanh, hn::Neg(tanh)};
  }
};

struct PercentageSlopes {
  double epsilon;
  HWY_INLINE Slopes slopes(const Vector p, const Vector t, Mask&) const {
    const Vector error = hn::Sub(p, t);
    const Vector size = hn::Abs(t);
    const Vector slope = hn::Div(sign(error), hn::Max(size, set(epsilon)));
    const Vector more = hn::Mul(hn::Mul(slope, slope), hn::Abs(error));
    return {slope, hn::Neg(hn::Add(
                       slope, hn::IfThenElseZero(hn::Ge(size, set(epsilon)),
                                                 hn::Mul(more, sign(t)))))};
  }
};

struct SymmetricSlopes {
  double epsilon;
  HWY_INLINE Slopes slopes(const Vector p, const Vector t, Mask&) const {
    const Vector error = hn::Sub(p, t);
    const Vector size = hn::Add(hn::Abs(p), hn::Abs(t));
    const Vector share = hn::Div(set(2.0), hn::Max(size, set(epsilon)));
    const Vector slope = hn::Mul(share, sign(error));
    const Vector more = hn::IfThenElseZero(
        hn::Ge(size, set(epsilon)),
        hn::Mul(hn::Mul(hn::Mul(share, share), set(0.5)), hn::Abs(error)));
    return {hn::NegMulAdd(more, sign(p), slope),
            hn::Neg(hn::MulAdd(more, sign(t), slope))};
  }
};

struct OverTargetsSlopes {
  HWY_INLINE Slopes slopes(const Vector p, const Vector t, Mask&) const {
    const Vector slope = sign(hn::Sub(p, t));
    return {slope, hn::Neg(slope)};
  }
};

struct PowerSlopes {
  int exponent;
  HWY_INLINE Slopes slopes(const Vector p, const Vector t, Mask&) const {
    const Vector error = hn::Sub(p, t);
    Vector slope = hn::Mul(set(exponent), sign(error));
    for (int i = 1; i < exponent; ++i) slope = hn::Mul(slope, hn::Abs(error));
    return {slope, hn::Neg(slope)};
  }
};

struct PoissonSlopes {
  HWY_INLINE Slopes slopes(const Vector p, const Vector t, Mask& usable) const {
    usable = hn::And(usable, hn::And(in_range(p), in_range(t)));
    return {hn::Mul(set(2.0), hn::Div(hn::Sub(p, t), p)),
            hn::Mul(set(2.0), log_ratio(t, p))};
  }
};

struct GammaSlopes {
  HWY_INLINE Slopes slopes(const Vector p, const Vector t, Mask& usable) const {
    usable = hn::And(usable, hn::And(in_range(p), in_range(t)));
    const Vector share = hn::Div(hn::Sub(p, t), p);
    return {hn::Mul(set(2.0), hn::Div(share, p)),
            hn::Mul(set(-2.0), hn::Div(share, t))};
  }
};

// With m = p^(1 - power) and the same of t, 2 (m - m t / p) and
// 2 / (1 - power) (t's - p's).
struct TweedieSlopes {
  double power;
  HWY_INLINE Vector root(const Vector x) const {  // x^(1 - power)
    const Vector exponent = hn::Mul(set(1 - power), log_ratio(x, set(1.0)));
    // Larger powers have no place in float64; of small ones, 1 less would
    // lose the digits.
    const Vector large =
        hn::Add(exp_less_one(hn::Min(hn::Abs(exponent), set(700.0))), set(1.0));
    return hn::IfThenElse(hn::Lt(exponent, hn::Zero(Double())),
                          hn::Div(set(1.0), large), large);
  }
  HWY_INLINE Slopes slopes(const Vector p, const Vector t, Mask& usable) const {
    usable = hn::And(usable, hn::And(in_range(p), in_range(t)));
    const Vector of_p = root(p);
    return {hn::Mul(hn::Mul(set(2.0), of_p), hn::Div(hn::Sub(p, t), p)),
            hn::Mul(set(2 / (1 - power)), hn::Sub(root(t), of_p))};
  }
  // 2 (t t' / ((1 - power) (2 - power)) - t p' / (1 - power) +
  // p p' / (2 - power)); a target of 0 has nothing but the last.
  HWY_INLINE Vector error(const Vector p, const Vector t, Mask& usable) const {
    const Mask none = hn::Eq(t, hn::Zero(Double()));
    const Vector other = power < 2 ? hn::IfThenElse(none, p, t) : t;
    usable = hn::And(usable, hn::And(in_range(p), in_range(other)));
    const Vector of_p = root(p);
    const double one = 1 / (1 - power), two = 1 / (2 - power);
    const Vector first = hn::Mul(hn::Mul(t, root(other)), set(one * two));
    const Vector second = hn::Mul(hn::Mul(t, of_p), set(one));
    const Vector third = hn::Mul(hn::Mul(p, of_p), set(two));
    return hn::IfThenElseZero(
        hn::Ne(p, t),
        hn::Mul(set(2.0), hn::Add(hn::Sub(first, second), third)));
  }
};

HWY_INLINE void store(const Vector values, float* to) {
  const hn::Rebind<float, Double> d;
  hn::StoreU(hn::DemoteTo(d, values), d, to);
}
HWY_INLINE void store(const Vector values, double* to) {
  hn::StoreU(values, Double(), to);
}

template <class Error, class T>
bool slopes_of(const Error& error, const T* preds, const T* target,
               std::int64_t count, const SlopeFactors& factors, T* of_preds,
               T* of_target) {
  const Double d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr bool kWeighs = std::is_same_v<Error, OverTargetsSlopes>;
  Mask usable = all_lanes();
  const auto slopes = [&](const T* from_p, const T* from_t, T* to_p, T* to_t) {
    const Vector p = load(from_p);
    const Vector t = load(from_t);
    // Not NaN, too.
    usable = hn::And(usable, hn::And(hn::Le(hn::Abs(p), set(kMost)),
                                     hn::Le(hn::Abs(t), set(kMost))));
    const Slopes found = error.slopes(p, t, usable);
    const Vector factor = set(factors.sum);
    if (to_p != nullptr) store(hn::Mul(found.preds, factor), to_p);
    if (to_t == nullptr) return;
    Vector of_t = hn::Mul(found.target, factor);
    if (kWeighs) of_t = hn::MulAdd(sign(t), set(factors.weight), of_t);
    store(of_t, to_t);
  };
  const auto at = [](T* begin, std::int64_t i) {
    return begin == nullptr ? nullptr : begin + i;
  };
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    slopes(preds + i, target + i, at(of_preds, i), at(of_target, i));
  }
  if (i < count) {
    T p[hn::MaxLanes(d)], t[hn::MaxLanes(d)];
    std::fill_n(p, lanes, T{1});
    std::fill_n(t, lanes, T{1});
    std::copy(preds + i, preds + count, p);
    std::copy(target + i, target + count, t);
    slopes(p, t, p, t);
    if (of_preds != nullptr) std::copy_n(p, count - i, of_preds + i);
    if (of_target != nullptr) std::copy_n(t, count - i, of_target + i);
  }
  return hn::AllTrue(d, usable);
}

template <class T>
bool slopes_of_kind(const ErrorKernel& kernel, const T* p, const T* t,
                    std::int64_t count, const SlopeFactors& factors, T* of_p,
                    T* of_t) {
  const auto of = [&](const auto& error) {
    return slopes_of(error, p, t, count, factors, of_p, of_t);
  };
  const double a = kernel.parameter;
  if (!kernel.kind) return of(TweedieSlopes{a});
  switch (*kernel.kind) {
    case ErrorKind::kSquaredLog:
      return of(SquaredLogSlopes());
    case ErrorKind::kLogCosh:
      return of(LogCoshSlopes());
    case ErrorKind::kPercentage:
      return of(PercentageSlopes{a});
    case ErrorKind::kSymmetric:
      return of(SymmetricSlopes{a});
    case ErrorKind::kOverTargets:
      return of(OverTargetsSlopes());
    case ErrorKind::kPower:
      return of(PowerSlopes{static_cast<int>(a)});
    case ErrorKind::kPoisson:
      return of(PoissonSlopes());
    case ErrorKind::kGamma:
      return of(GammaSlopes());
    case ErrorKind::kPinball:
      break;
  }
  return false;
}

bool float_slopes(const ErrorKernel& kernel, const float* p, const float* t,
                  std::int64_t count, const SlopeFactors& factors, float* of_p,
                  float* of_t) {
  return slopes_of_kind(kernel, p, t, count, factors, of_p, of_t);
}
bool double_slopes(const ErrorKernel& kernel, const double* p, const double* t,
                   std::int64_t count, const SlopeFactors& factors,
                   double* of_p, double* of_t) {
  return slopes_of_kind(kernel, p, t, count, factors, of_p, of_t);
}

template <class T>
std::optional<double> sum_of_tweedie(double power, const T* preds,
                                     const T* target, std::int64_t count) {
  const Double d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const TweedieSlopes deviance{power};
  Mask usable = all_lanes();
  Vector sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    sum =
        hn::Add(sum, deviance.error(load(preds + i), load(target + i), usable));
  }
  if (i < count) {
    T p[hn::MaxLanes(d)], t[hn::MaxLanes(d)];
    std::fill_n(p, lanes, T{1});
    std::fill_n(t, lanes, T{1});
    std::copy(preds + i, preds + count, p);
    std::copy(target + i, target + count, t);
    sum = hn::Add(sum, deviance.error(load(p), load(t), usable));
  }
  if (!hn::AllTrue(d, usable)) return std::nullopt;
  return total(sum);
}

std::optional<double> float_tweedie(double power, const float* preds,
                                    const float* target, std::int64_t count) {
  return sum_of_tweedie(power, preds, target, count);
}
std::optional<double> double_tweedie(double power, const double* preds,
                                     const double* target, std::int64_t count) {
  return sum_of_tweedie(power, preds, target, count);
}

}  // namespace tally::internal::regression::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::regression {

HWY_EXPORT(float_slopes);
HWY_EXPORT(double_slopes);
HWY_EXPORT(float_tweedie);
HWY_EXPORT(double_tweedie);

bool error_slopes(const ErrorKernel& kernel, const float* preds,
                  const float* target, std::int64_t count,
                  const SlopeFactors& factors, float* of_preds,
                  float* of_target) {
  return HWY_DYNAMIC_DISPATCH(float_slopes)(kernel, preds, target, count,
                                            factors, of_preds, of_target);
}
bool error_slopes(const ErrorKernel& kernel, const double* preds,
                  const double* target, std::int64_t count,
                  const SlopeFactors& factors, double* of_preds,
                  double* of_target) {
  return HWY_DYNAMIC_DISPATCH(double_slopes)(kernel, preds, target, count,
                                             factors, of_preds, of_target);
}

std::optional<double> tweedie_sum(double power, const float* preds,
                                  const float* target, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(float_tweedie)(power, preds, target, count);
}
std::optional<double> tweedie_sum(double power, const double* preds,
                                  const double* target, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(double_tweedie)(power, preds, target, count);
}

}  // namespace tally::internal::regression
#endif
