#include "tally/metrics/image/kernels/window_kernels.h"

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/image/kernels/window_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::image::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void add_of_target(const double* from, const double* taps, std::int64_t size,
                   std::int64_t step, std::int64_t count, double* to) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto sum = hn::Zero(d);
    for (std::int64_t k = 0; k < size; ++k) {
      sum = hn::MulAdd(hn::Set(d, taps[k]), hn::LoadU(d, from + i + k * step),
                       sum);
    }
    hn::StoreU(sum, d, to + i);
  }
  for (; i < count; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < size; ++k) sum += taps[k] * from[i + k * step];
    to[i] = sum;
  }
}

void spread_of_target(const double* from, const double* taps, std::int64_t size,
                      std::int64_t step, std::int64_t count, double* to) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t k = 0; k < size; ++k) {
    double* const at = to + k * step;
    const auto weight = hn::Set(d, taps[k]);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(
          hn::MulAdd(weight, hn::LoadU(d, from + i), hn::LoadU(d, at + i)), d,
          at + i);
    }
    for (; i < count; ++i) at[i] += taps[k] * from[i];
  }
}

}  // namespace tally::internal::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::image {

HWY_EXPORT(add_of_target);
HWY_EXPORT(spread_of_target);

void add_taps(const double* from, const double* taps, std::int64_t size,
              std::int64_t step, std::int64_t count, double* to) {
  HWY_DYNAMIC_DISPATCH(add_of_target)(from, taps, size, step, count, to);
}

void spread_taps(const double* from, const double* taps, std::int64_t size,
                 std::int64_t step, std::int64_t count, double* to) {
  HWY_DYNAMIC_DISPATCH(spread_of_target)(from, taps, size, step, count, to);
}

}  // namespace tally::internal::image
#endif  // HWY_ONCE
