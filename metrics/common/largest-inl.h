// The largest score of a row, compiled once per vector target: include after
// <hwy/foreach_target.h>.

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#if defined(TALLY_METRICS_LARGEST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TALLY_METRICS_LARGEST_INL_H_
#undef TALLY_METRICS_LARGEST_INL_H_
#else
#define TALLY_METRICS_LARGEST_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// NaN if any score is. REQUIRES: classes > 0.
template <class T>
T largest(const T* scores, std::int64_t classes) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  T max = scores[0];
  bool nan = max != max;
  std::int64_t c = 0;
  if (classes >= lanes) {
    auto max0 = hn::LoadU(d, scores);
    auto max1 = max0;
    auto odd = hn::IsNaN(max0);
    for (; c + 2 * lanes <= classes; c += 2 * lanes) {
      const auto a = hn::LoadU(d, scores + c);
      const auto b = hn::LoadU(d, scores + c + lanes);
      max0 = hn::Max(max0, a);
      max1 = hn::Max(max1, b);
      odd = hn::Or(odd, hn::Or(hn::IsNaN(a), hn::IsNaN(b)));
    }
    if (c + lanes <= classes) {
      const auto a = hn::LoadU(d, scores + c);
      max0 = hn::Max(max0, a);
      odd = hn::Or(odd, hn::IsNaN(a));
    }
    // The rest, overlapping with processed scores.
    const auto last = hn::LoadU(d, scores + classes - lanes);
    odd = hn::Or(odd, hn::IsNaN(last));
    nan = !hn::AllFalse(d, odd);
    max = hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(max0, max1), last)));
  } else {
    for (c = 1; c < classes; ++c) {
      nan |= scores[c] != scores[c];
      max = scores[c] > max ? scores[c] : max;
    }
  }
  return nan ? std::numeric_limits<T>::quiet_NaN() : max;
}

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
