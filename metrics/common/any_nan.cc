#include "tally/metrics/common/any_nan.h"

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/common/any_nan.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
bool holds_nan(const T* values, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto found = hn::IsNaN(hn::Zero(d));
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto a = hn::IsNaN(hn::LoadU(d, values + i));
    const auto b = hn::IsNaN(hn::LoadU(d, values + i + lanes));
    found = hn::Or(found, hn::Or(a, b));
  }
  bool rest = false;
  for (; i < count; ++i) rest |= values[i] != values[i];
  return rest || !hn::AllFalse(d, found);
}

bool any_nan_of_floats(const float* values, std::int64_t count) {
  return holds_nan(values, count);
}
bool any_nan_of_doubles(const double* values, std::int64_t count) {
  return holds_nan(values, count);
}

}  // namespace tally::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal {

HWY_EXPORT(any_nan_of_floats);
HWY_EXPORT(any_nan_of_doubles);

bool any_nan(const float* values, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(any_nan_of_floats)(values, count);
}
bool any_nan(const double* values, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(any_nan_of_doubles)(values, count);
}

}  // namespace tally::internal
#endif
