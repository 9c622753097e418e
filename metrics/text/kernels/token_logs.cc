#include "tally/metrics/text/kernels/token_logs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/text/kernels/token_logs.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "tally/metrics/common/largest-inl.h"
#include "tally/metrics/common/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::text::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace math = regression::HWY_NAMESPACE;
using math::set;
using math::Vector;

// (exp(r) - 1 - r) / r^2 for |r| up to log(2) / 2, within 2e-14 of exp(r).
constexpr double kSeries[] = {0.49999999999661027,    0.16666666667255858,
                              0.041666666963760715,   0.008333333099108239,
                              0.0013888810935726837,  0.00019841533860627517,
                              2.4880898655689074e-05, 2.749518962378606e-06};

// sum + exp(x), where exp(x) is 0 from -708.8 down. REQUIRES: x <= 0.
HWY_INLINE Vector add_exp(const Vector x, const Vector sum) {
  const math::Double d;
  const math::Bits u;
  // In the last bits stands x / log(2), rounded, as an exponent of double: 0,
  // which makes a power 0, for the least x.
  const Vector magic = set(0x1.8p52 + 1023);
  const Vector kept = hn::Max(x, set(-709.0));
  const Vector bits = hn::MulAdd(kept, set(1.4426950408889634), magic);
  const Vector r = hn::NegMulAdd(hn::Sub(bits, magic),
                                 set(6.93147180559945286227e-01), kept);
  Vector value = set(kSeries[7]);
  for (int i = 6; i >= 0; --i) value = hn::MulAdd(value, r, set(kSeries[i]));
  value = hn::MulAdd(hn::MulAdd(value, r, set(1.0)), r, set(1.0));
  const Vector power = hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(u, bits)));
  return hn::MulAdd(power, value, sum);
}

// The sum of exp(logit - max). REQUIRES: max is the largest, and finite.
template <class T>
double sum_of_exps(const T* logits, std::int64_t size, double max) {
  constexpr std::int64_t kMostLanes = HWY_MAX_BYTES / sizeof(double);
  const math::Double d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Vector top = set(max);
  const auto added = [&](const T* some, const Vector sum) {
    return add_exp(hn::Sub(math::load(some), top), sum);
  };
  Vector sum0 = hn::Zero(d);
  Vector sum1 = sum0, sum2 = sum0, sum3 = sum0;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= size; i += 4 * lanes) {
    sum0 = added(logits + i, sum0);
    sum1 = added(logits + i + lanes, sum1);
    sum2 = added(logits + i + 2 * lanes, sum2);
    sum3 = added(logits + i + 3 * lanes, sum3);
  }
  for (; i + lanes <= size; i += lanes) sum0 = added(logits + i, sum0);
  if (i < size) {
    T rest[kMostLanes];
    std::fill_n(rest, lanes, -std::numeric_limits<T>::infinity());
    std::copy(logits + i, logits + size, rest);
    sum1 = added(rest, sum1);
  }
  return math::total(hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
}

template <class T>
double negative_log_of(const T* logits, std::int64_t size, std::int64_t token) {
  const auto max =
      static_cast<double>(classification::HWY_NAMESPACE::largest(logits, size));
  if (!std::isfinite(max)) return std::numeric_limits<double>::quiet_NaN();
  return std::log(sum_of_exps(logits, size, max)) +
         (max - static_cast<double>(logits[token]));
}

double NegativeLogOfFloats(const float* logits, std::int64_t size,
                           std::int64_t token) {
  return negative_log_of(logits, size, token);
}
double NegativeLogOfDoubles(const double* logits, std::int64_t size,
                            std::int64_t token) {
  return negative_log_of(logits, size, token);
}

}  // namespace tally::internal::text::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::text {

HWY_EXPORT(NegativeLogOfFloats);
HWY_EXPORT(NegativeLogOfDoubles);

double negative_log(const float* logits, std::int64_t size,
                    std::int64_t token) {
  return HWY_DYNAMIC_DISPATCH(NegativeLogOfFloats)(logits, size, token);
}
double negative_log(const double* logits, std::int64_t size,
                    std::int64_t token) {
  return HWY_DYNAMIC_DISPATCH(NegativeLogOfDoubles)(logits, size, token);
}

}  // namespace tally::internal::text
#endif  // HWY_ONCE
