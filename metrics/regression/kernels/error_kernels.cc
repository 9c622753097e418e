#include "tally/metrics/regression/kernels/error_kernels.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/regression/kernels/error_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h, both.
#include <hwy/highway.h>

#include "tally/metrics/common/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::regression::HWY_NAMESPACE {

struct ErrorVectors {
  Vector sum, weight;
  Mask usable;

  HWY_INLINE void need(const Mask mask) { usable = hn::And(usable, mask); }
};

// Each adds errors to sums.
struct SquaredLog {
  HWY_INLINE void add(const Vector p, const Vector t, ErrorVectors& s) const {
    const Vector one = set(1.0);
    const Vector a = hn::Add(one, p);
    const Vector b = hn::Add(one, t);
    s.need(hn::And(in_range(a), in_range(b)));
    const Vector log = log_ratio(a, b, hn::Sub(p, t));
    s.sum = hn::MulAdd(log, log, s.sum);
  }
};

// Of x = |p - t|. Below 1, with v = exp(x) - 1, cosh(x) - 1 is
// v^2 / (2 (1 + v)), which keeps the digits of small errors; above, it is
// x - log(2) + log(1 + e) with e = exp(-2 x).
struct LogCosh {
  HWY_INLINE void add(const Vector p, const Vector t, ErrorVectors& s) const {
    const Double d;
    const Vector x = hn::Abs(hn::Sub(p, t));
    const Mask small = hn::Lt(x, set(1.0));
    const Vector power = hn::Max(hn::Mul(set(-2.0), x), set(-700.0));
    const Vector v = exp_less_one(hn::IfThenElse(small, x, power));
    const Vector e = hn::Add(v, set(1.0));
    const Vector v2 = hn::Mul(v, v);
    const Vector q = log_of_quotient(
        hn::Div(hn::IfThenElse(small, v2, e),
                hn::IfThenElse(small, hn::MulAdd(set(4.0), e, v2),
                               hn::Add(set(2.0), e))));
    const Vector rest = hn::IfThenElse(
        small, hn::Zero(d), hn::Sub(x, set(6.93147180559945286227e-01)));
    s.sum = hn::Add(s.sum, hn::Add(rest, q));
  }
};

struct Percentage {
  double epsilon;
  HWY_INLINE void add(const Vector p, const Vector t, ErrorVectors& s) const {
    s.sum = hn::Add(s.sum, hn::Div(hn::Abs(hn::Sub(p, t)),
                                   hn::Max(hn::Abs(t), set(epsilon))));
  }
};

struct Symmetric {
  double epsilon;
  HWY_INLINE void add(const Vector p, const Vector t, ErrorVectors& s) const {
    const Vector error = hn::Abs(hn::Sub(p, t));
    const Vector size = hn::Add(hn::Abs(p), hn::Abs(t));
    s.sum = hn::Add(
        s.sum, hn::Div(hn::Add(error, error), hn::Max(size, set(epsilon))));
  }
};

struct OverTargets {
  HWY_INLINE void add(const Vector p, const Vector t, ErrorVectors& s) const {
    s.sum = hn::Add(s.sum, hn::Abs(hn::Sub(p, t)));
    s.weight = hn::Add(s.weight, hn::Abs(t));
  }
};

struct Power {
  int exponent;
  HWY_INLINE void add(const Vector p, const Vector t, ErrorVectors& s) const {
    const Vector error = hn::Abs(hn::Sub(p, t));
    Vector power = error;
    for (int i = 2; i < exponent; ++i) power = hn::Mul(power, error);
    s.sum =
        exponent == 1 ? hn::Add(s.sum, error) : hn::MulAdd(power, error, s.sum);
  }
};

struct Pinball {
  double alpha;
  HWY_INLINE void add(const Vector p, const Vector t, ErrorVectors& s) const {
    const Vector error = hn::Sub(t, p);
    const Mask above = hn::Ge(error, hn::Zero(Double()));
    s.sum = hn::MulAdd(error, hn::IfThenElse(above, set(alpha), set(alpha - 1)),
                       s.sum);
  }
};

// Counts are often 0.
struct Poisson {
  HWY_INLINE void add(const Vector p, const Vector t, ErrorVectors& s) const {
    const Vector other = hn::IfThenElse(hn::Eq(t, hn::Zero(Double())), p, t);
    s.need(hn::And(in_range(p), in_range(other)));
    const Vector difference = hn::Sub(p, t);
    const Vector log = log_ratio(other, p);
    const Vector half = hn::MulAdd(t, log, difference);
    s.sum = hn::MulAdd(half, set(2.0), s.sum);
  }
};

struct Gamma {
  HWY_INLINE void add(const Vector p, const Vector t, ErrorVectors& s) const {
    s.need(hn::And(in_range(p), in_range(t)));
    const Vector difference = hn::Sub(p, t);
    const Vector half = hn::Sub(log_ratio(p, t), hn::Div(difference, p));
    s.sum = hn::MulAdd(half, set(2.0), s.sum);
  }
};

template <class Error, class T>
std::optional<PlainSums> sums_of(const Error& error, const T* preds,
                                 const T* target, std::int64_t count) {
  const Double d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Vector zero = hn::Zero(d);
  ErrorVectors sums{zero, zero, all_lanes()};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    error.add(load(preds + i), load(target + i), sums);
  }
  constexpr bool kWeighs = std::is_same_v<Error, OverTargets>;
  if (i < count) {
    // Filled up with pairs that add nothing.
    const T fill = kWeighs ? 0 : 1;
    T p[hn::MaxLanes(d)], t[hn::MaxLanes(d)];
    std::fill_n(p, lanes, fill);
    std::fill_n(t, lanes, fill);
    std::copy(preds + i, preds + count, p);
    std::copy(target + i, target + count, t);
    error.add(load(p), load(t), sums);
  }
  if (!hn::AllTrue(d, sums.usable)) return std::nullopt;
  return PlainSums{total(sums.sum),
                   kWeighs ? total(sums.weight) : static_cast<double>(count),
                   true};
}

template <class T>
std::optional<PlainSums> sums_of_kind(ErrorKind kind, double a, const T* p,
                                      const T* t, std::int64_t count) {
  switch (kind) {
    case ErrorKind::kSquaredLog:
      return sums_of(SquaredLog(), p, t, count);
    case ErrorKind::kLogCosh:
      return sums_of(LogCosh(), p, t, count);
    case ErrorKind::kPercentage:
      return sums_of(Percentage{a}, p, t, count);
    case ErrorKind::kSymmetric:
      return sums_of(Symmetric{a}, p, t, count);
    case ErrorKind::kOverTargets:
      return sums_of(OverTargets(), p, t, count);
    case ErrorKind::kPower:
      return sums_of(Power{static_cast<int>(a)}, p, t, count);
    case ErrorKind::kPinball:
      return sums_of(Pinball{a}, p, t, count);
    case ErrorKind::kPoisson:
      return sums_of(Poisson(), p, t, count);
    case ErrorKind::kGamma:
      return sums_of(Gamma(), p, t, count);
  }
  return std::nullopt;
}

std::optional<PlainSums> sums_of_floats(ErrorKind kind, double a,
                                        const float* p, const float* t,
                                        std::int64_t count) {
  return sums_of_kind(kind, a, p, t, count);
}
std::optional<PlainSums> sums_of_doubles(ErrorKind kind, double a,
                                         const double* p, const double* t,
                                         std::int64_t count) {
  return sums_of_kind(kind, a, p, t, count);
}
std::optional<PlainSums> sums_of_integers(ErrorKind kind, double a,
                                          const std::int64_t* p,
                                          const std::int64_t* t,
                                          std::int64_t count) {
  return sums_of_kind(kind, a, p, t, count);
}

}  // namespace tally::internal::regression::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::regression {

HWY_EXPORT(sums_of_floats);
HWY_EXPORT(sums_of_doubles);
HWY_EXPORT(sums_of_integers);

std::optional<PlainSums> error_sums(ErrorKind kind, double parameter,
                                    const float* preds, const float* target,
                                    std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(sums_of_floats)(kind, parameter, preds, target,
                                              count);
}
std::optional<PlainSums> error_sums(ErrorKind kind, double parameter,
                                    const double* preds, const double* target,
                                    std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(sums_of_doubles)(kind, parameter, preds, target,
                                               count);
}
std::optional<PlainSums> error_sums(ErrorKind kind, double parameter,
                                    const std::int64_t* preds,
                                    const std::int64_t* target,
                                    std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(sums_of_integers)(kind, parameter, preds, target,
                                                count);
}

}  // namespace tally::internal::regression
#endif
