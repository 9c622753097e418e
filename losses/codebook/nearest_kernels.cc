#include "tally/losses/codebook/nearest_kernels.h"

#include <algorithm>
#include <limits>

// Two vector targets beside the baseline: more would only cost compile time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/codebook/nearest_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
T subtract_and_top(T* HWY_RESTRICT values, const T* HWY_RESTRICT less,
                   std::int64_t count, T* HWY_RESTRICT tops) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr T kLeast = -std::numeric_limits<T>::infinity();
  const auto least = hn::Set(d, kLeast);
  T best = kLeast;
  for (std::int64_t block = 0; block < count; block += kTopBlock) {
    const std::int64_t end = std::min(block + kTopBlock, count);
    auto largest = least;
    std::int64_t j = block;
    for (; j + lanes <= end; j += lanes) {
      const auto value =
          hn::Sub(hn::LoadU(d, values + j), hn::LoadU(d, less + j));
      hn::StoreU(value, d, values + j);
      largest = hn::IfThenElse(hn::Gt(value, largest), value, largest);
    }
    T top = hn::GetLane(hn::MaxOfLanes(d, largest));
    for (; j < end; ++j) {
      values[j] -= less[j];
      if (values[j] > top) top = values[j];
    }
    *tops++ = top;
    best = std::max(best, top);
  }
  return best;
}

float subtract_and_top_f32(float* values, const float* less, std::int64_t count,
                           float* tops) {
  return subtract_and_top(values, less, count, tops);
}

double subtract_and_top_f64(double* values, const double* less,
                            std::int64_t count, double* tops) {
  return subtract_and_top(values, less, count, tops);
}

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::losses::internal {

HWY_EXPORT(subtract_and_top_f32);
HWY_EXPORT(subtract_and_top_f64);

float subtract_and_top(float* values, const float* less, std::int64_t count,
                       float* tops) {
  return HWY_DYNAMIC_DISPATCH(subtract_and_top_f32)(values, less, count, tops);
}

double subtract_and_top(double* values, const double* less, std::int64_t count,
                        double* tops) {
  return HWY_DYNAMIC_DISPATCH(subtract_and_top_f64)(values, less, count, tops);
}

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
