#include "tally/metrics/features/kernels/kernel_powers.h"

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/features/kernels/kernel_powers.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::features::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

double PowersOfTarget(const double* products, std::int64_t count, double gamma,
                      double coef, std::int64_t degree) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto power = [&](auto tag, const double* from) {
    const auto value = hn::MulAdd(hn::LoadU(tag, from), hn::Set(tag, gamma),
                                  hn::Set(tag, coef));
    auto result = value;
    for (std::int64_t i = 1; i < degree; ++i) result = hn::Mul(result, value);
    return result;
  };
  auto sum0 = hn::Zero(d);
  auto sum1 = sum0, sum2 = sum0, sum3 = sum0;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = hn::Add(sum0, power(d, products + i));
    sum1 = hn::Add(sum1, power(d, products + i + lanes));
    sum2 = hn::Add(sum2, power(d, products + i + 2 * lanes));
    sum3 = hn::Add(sum3, power(d, products + i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) {
    sum0 = hn::Add(sum0, power(d, products + i));
  }
  const hn::CappedTag<double, 1> one;
  double sum = hn::GetLane(
      hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  for (; i < count; ++i) sum += hn::GetLane(power(one, products + i));
  return sum;
}

}  // namespace tally::internal::features::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::features {

HWY_EXPORT(PowersOfTarget);

double sum_of_powers(const double* products, std::int64_t count, double gamma,
                     double coef, std::int64_t degree) {
  return HWY_DYNAMIC_DISPATCH(PowersOfTarget)(products, count, gamma, coef,
                                              degree);
}

}  // namespace tally::internal::features
#endif  // HWY_ONCE
