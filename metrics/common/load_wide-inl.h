// Numbers as vectors of float64, compiled once per vector target: include after
// <hwy/foreach_target.h>.

#include <hwy/highway.h>

#if defined(TALLY_METRICS_LOAD_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TALLY_METRICS_LOAD_WIDE_INL_H_
#undef TALLY_METRICS_LOAD_WIDE_INL_H_
#else
#define TALLY_METRICS_LOAD_WIDE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tally::internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::VFromD<D> load_wide(D d, const double* values) {
  return hn::LoadU(d, values);
}
template <class D>
HWY_INLINE hn::VFromD<D> load_wide(D d, const float* values) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), values));
}

}  // namespace tally::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
