#include "tally/metrics/classification/kernels/calibration_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE \
  "metrics/classification/kernels/calibration_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "tally/metrics/common/largest-inl.h"
#include "tally/metrics/common/load_wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using tally::internal::HWY_NAMESPACE::load_wide;

// exp(x) to 1e-15, and 1 for 0, for x from -700 to 0.
template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  const hn::RebindToSigned<D> di;
  // In the last bits of the sum stands x / log(2), rounded.
  const auto magic = hn::Set(d, 0x1.8p52);
  const auto sum = hn::MulAdd(x, hn::Set(d, 1.4426950408889634), magic);
  const auto r =
      hn::NegMulAdd(hn::Sub(sum, magic), hn::Set(d, 0.6931471805599453), x);
  // exp(r) = 1 + r * p(r), where p is exact at Chebyshev's nodes.
  const auto r2 = hn::Mul(r, r);
  const auto r4 = hn::Mul(r2, r2);
  const auto pair = [&](double even, double odd) {
    return hn::MulAdd(r, hn::Set(d, odd), hn::Set(d, even));
  };
  const auto low =
      hn::MulAdd(r2, pair(0.16666666666615607, 0.041666666666624115),
                 pair(1.0000000000000013, 0.5000000000000001));
  const auto high =
      hn::MulAdd(r2, pair(0.0001984119061645014, 2.4801521297904503e-05),
                 pair(0.008333333367331532, 0.0013888888917214044));
  const auto top = pair(2.763265551723334e-06, 2.7620087127472093e-07);
  const auto p = hn::MulAdd(r4, hn::MulAdd(r4, top, high), low);
  const auto value = hn::MulAdd(r, p, hn::Set(d, 1.0));
  const auto power = hn::ShiftLeft<52>(hn::BitCast(di, sum));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, value), power));
}

// REQUIRES: max is finite.
template <class T>
double sum_of_powers(const T* logits, std::int64_t classes, double max) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto top = hn::Set(d, max);
  const auto lowest = hn::Set(d, -700.0);
  // exp(-700) is nothing beside the largest's 1.
  const auto power = [&](auto x) {
    return exp_of(d, hn::Max(hn::Sub(x, top), lowest));
  };
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  std::int64_t c = 0;
  for (; c + 2 * lanes <= classes; c += 2 * lanes) {
    sum0 = hn::Add(sum0, power(load_wide(d, logits + c)));
    sum1 = hn::Add(sum1, power(load_wide(d, logits + c + lanes)));
  }
  if (c + lanes <= classes) {
    sum0 = hn::Add(sum0, power(load_wide(d, logits + c)));
    c += lanes;
  }
  if (classes < lanes) {
    double sum = 0;
    for (; c < classes; ++c) {
      sum += std::exp(static_cast<double>(logits[c]) - max);
    }
    return sum;
  }
  // The rest, behind some that were added.
  const auto seen = static_cast<std::size_t>(c - (classes - lanes));
  sum1 = hn::Add(
      sum1, hn::IfThenZeroElse(hn::FirstN(d, seen),
                               power(load_wide(d, logits + classes - lanes))));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
}

template <class T>
TopScore top_of(const T* scores, std::int64_t classes, std::int64_t target,
                bool logits) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const T max = largest(scores, classes);
  if (max != max) return {kNaN, false};
  TopScore top{static_cast<double>(max), scores[target] == max};
  for (std::int64_t c = 0; top.hit && c < target; ++c) {
    top.hit = scores[c] != max;
  }
  if (!logits) return top;
  // An infinite logit leaves no softmax.
  top.confidence =
      std::isfinite(max) ? 1 / sum_of_powers(scores, classes, max) : kNaN;
  return top;
}

TopScore TopFloat(const float* scores, std::int64_t classes,
                  std::int64_t target, bool logits) {
  return top_of(scores, classes, target, logits);
}
TopScore TopDouble(const double* scores, std::int64_t classes,
                   std::int64_t target, bool logits) {
  return top_of(scores, classes, target, logits);
}

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::classification {

HWY_EXPORT(TopFloat);
HWY_EXPORT(TopDouble);

TopScore top_score(const float* scores, std::int64_t classes,
                   std::int64_t target, bool logits) {
  return HWY_DYNAMIC_DISPATCH(TopFloat)(scores, classes, target, logits);
}
TopScore top_score(const double* scores, std::int64_t classes,
                   std::int64_t target, bool logits) {
  return HWY_DYNAMIC_DISPATCH(TopDouble)(scores, classes, target, logits);
}

}  // namespace tally::internal::classification
#endif  // HWY_ONCE
