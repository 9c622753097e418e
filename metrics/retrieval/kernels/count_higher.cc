#include "tally/metrics/retrieval/kernels/count_higher.h"

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/retrieval/kernels/count_higher.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::retrieval::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Score, class Count>
HWY_INLINE std::int64_t count_all(const Score* scores, std::int64_t count,
                                  Count* higher) {
  const hn::CappedTag<Score, kHigherBlock / 4> d;
  const hn::RebindToSigned<decltype(d)> of_counts;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    const auto a = hn::LoadU(d, scores + i);
    const auto b = hn::LoadU(d, scores + i + lanes);
    const auto e = hn::LoadU(d, scores + i + 2 * lanes);
    const auto f = hn::LoadU(d, scores + i + 3 * lanes);
    auto above_a = hn::Zero(of_counts), above_b = above_a, above_e = above_a,
         above_f = above_a;
    for (std::int64_t k = 0; k < count; ++k) {
      const auto other = hn::Set(d, scores[k]);
      // -1 where it is higher.
      const auto is_higher = [&](const auto one) HWY_ATTR {
        return hn::BitCast(of_counts, hn::VecFromMask(d, hn::Gt(other, one)));
      };
      above_a = hn::Sub(above_a, is_higher(a));
      above_b = hn::Sub(above_b, is_higher(b));
      above_e = hn::Sub(above_e, is_higher(e));
      above_f = hn::Sub(above_f, is_higher(f));
    }
    hn::StoreU(above_a, of_counts, higher + i);
    hn::StoreU(above_b, of_counts, higher + i + lanes);
    hn::StoreU(above_e, of_counts, higher + i + 2 * lanes);
    hn::StoreU(above_f, of_counts, higher + i + 3 * lanes);
  }
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += higher[i];
  return sum;
}

std::int64_t count_floats(const float* scores, std::int64_t count,
                          std::int32_t* higher) {
  return count_all(scores, count, higher);
}

std::int64_t count_doubles(const double* scores, std::int64_t count,
                           std::int64_t* higher) {
  return count_all(scores, count, higher);
}

}  // namespace tally::internal::retrieval::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::retrieval {

HWY_EXPORT(count_floats);
HWY_EXPORT(count_doubles);

std::int64_t count_higher(const float* scores, std::int64_t count,
                          std::int32_t* higher) {
  return HWY_DYNAMIC_DISPATCH(count_floats)(scores, count, higher);
}

std::int64_t count_higher(const double* scores, std::int64_t count,
                          std::int64_t* higher) {
  return HWY_DYNAMIC_DISPATCH(count_doubles)(scores, count, higher);
}

}  // namespace tally::internal::retrieval
#endif  // HWY_ONCE
