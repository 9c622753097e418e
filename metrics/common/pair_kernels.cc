#include "tally/metrics/common/pair_kernels.h"

#include <cmath>
#include <cstddef>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/common/pair_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h, both.
#include <hwy/highway.h>

#include "tally/metrics/common/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::regression::HWY_NAMESPACE {

template <class T>
double wide(T value) {
  return static_cast<double>(value);
}

struct VectorSums {
  Vector p, t, pp, tt, pt, e;

  HWY_INLINE void add(const Vector preds, const Vector target,
                      const Vector first_preds, const Vector first_target) {
    const Vector dp = hn::Sub(preds, first_preds);
    const Vector dt = hn::Sub(target, first_target);
    const Vector error = hn::Sub(preds, target);
    p = hn::Add(p, dp);
    t = hn::Add(t, dt);
    pp = hn::MulAdd(dp, dp, pp);
    tt = hn::MulAdd(dt, dt, tt);
    pt = hn::MulAdd(dp, dt, pt);
    e = hn::MulAdd(error, error, e);
  }
};

template <class T>
ShiftedSums shifted(const T* preds, const T* target, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Double()));
  const Vector first_preds = hn::Set(Double(), wide(*preds));
  const Vector first_target = hn::Set(Double(), wide(*target));
  const Vector zero = hn::Zero(Double());
  VectorSums a{zero, zero, zero, zero, zero, zero};
  VectorSums b = a;
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    a.add(load(preds + i), load(target + i), first_preds, first_target);
    b.add(load(preds + i + lanes), load(target + i + lanes), first_preds,
          first_target);
  }
  ShiftedSums s{static_cast<double>(count), total(hn::Add(a.p, b.p)),
                total(hn::Add(a.t, b.t)),   total(hn::Add(a.pp, b.pp)),
                total(hn::Add(a.tt, b.tt)), total(hn::Add(a.pt, b.pt)),
                total(hn::Add(a.e, b.e))};
  for (; i < count; ++i) {
    const double dp = wide(preds[i]) - wide(*preds);
    const double dt = wide(target[i]) - wide(*target);
    const double error = wide(preds[i]) - wide(target[i]);
    s.preds += dp;
    s.target += dt;
    s.preds_preds += dp * dp;
    s.target_target += dt * dt;
    s.preds_target += dp * dt;
    s.error += error * error;
  }
  return s;
}

struct Square {
  static HWY_INLINE Vector add(const Vector error, const Vector sum) {
    return hn::MulAdd(error, error, sum);
  }
  static double of(double error) { return error * error; }
};

struct Absolute {
  static HWY_INLINE Vector add(const Vector error, const Vector sum) {
    return hn::Add(hn::Abs(error), sum);
  }
  static double of(double error) { return std::abs(error); }
};

template <class Error, class T>
double error_sum(const T* preds, const T* target, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Double()));
  Vector a = hn::Zero(Double()), b = a, c = a, d = a;
  const auto error = [&](std::int64_t at) HWY_ATTR {
    return hn::Sub(load(preds + at), load(target + at));
  };
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = Error::add(error(i), a);
    b = Error::add(error(i + lanes), b);
    c = Error::add(error(i + 2 * lanes), c);
    d = Error::add(error(i + 3 * lanes), d);
  }
  double sum = total(hn::Add(hn::Add(a, b), hn::Add(c, d)));
  for (; i < count; ++i) sum += Error::of(wide(preds[i]) - wide(target[i]));
  return sum;
}

#define TALLY_DEFINE_PAIR_KERNELS(Name, T)                                 \
  ShiftedSums shifted_##Name(const T* p, const T* t, std::int64_t count) { \
    return shifted(p, t, count);                                           \
  }                                                                        \
  double squared_##Name(const T* p, const T* t, std::int64_t count) {      \
    return error_sum<Square>(p, t, count);                                 \
  }                                                                        \
  double absolute_##Name(const T* p, const T* t, std::int64_t count) {     \
    return error_sum<Absolute>(p, t, count);                               \
  }
TALLY_DEFINE_PAIR_KERNELS(Float, float)
TALLY_DEFINE_PAIR_KERNELS(Double, double)
TALLY_DEFINE_PAIR_KERNELS(Int64, std::int64_t)
#undef TALLY_DEFINE_PAIR_KERNELS

}  // namespace tally::internal::regression::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::regression {

#define TALLY_EXPORT_PAIR_KERNELS(Name, T)                                \
  HWY_EXPORT(shifted_##Name);                                             \
  HWY_EXPORT(squared_##Name);                                             \
  HWY_EXPORT(absolute_##Name);                                            \
  ShiftedSums shifted_sums(const T* p, const T* t, std::int64_t count) {  \
    return HWY_DYNAMIC_DISPATCH(shifted_##Name)(p, t, count);             \
  }                                                                       \
  double squared_error_sum(const T* p, const T* t, std::int64_t count) {  \
    return HWY_DYNAMIC_DISPATCH(squared_##Name)(p, t, count);             \
  }                                                                       \
  double absolute_error_sum(const T* p, const T* t, std::int64_t count) { \
    return HWY_DYNAMIC_DISPATCH(absolute_##Name)(p, t, count);            \
  }
TALLY_EXPORT_PAIR_KERNELS(Float, float)
TALLY_EXPORT_PAIR_KERNELS(Double, double)
TALLY_EXPORT_PAIR_KERNELS(Int64, std::int64_t)
#undef TALLY_EXPORT_PAIR_KERNELS

}  // namespace tally::internal::regression
#endif
