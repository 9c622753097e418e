#include "tally/metrics/intervals/kernels/curve_kernels.h"

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/intervals/kernels/curve_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::internal::intervals::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Double = hn::ScalableTag<double>;
using Vector = hn::Vec<Double>;
using Byte = hn::ScalableTag<std::uint8_t>;
using Bytes = hn::Vec<Byte>;

HWY_INLINE std::int64_t lanes() {
  return static_cast<std::int64_t>(hn::Lanes(Double()));
}

HWY_INLINE Vector promoted(const std::uint8_t* bytes) {
  const hn::Rebind<std::int32_t, Double> d32;
  const hn::Rebind<std::uint8_t, Double> d8;
  return hn::PromoteTo(Double(), hn::PromoteTo(d32, hn::LoadU(d8, bytes)));
}

struct StepSums {
  Vector positives;
  Vector negatives;
};

// Ends a step for a vector of replicates from `i` on.
template <CurveArea kKind>
HWY_INLINE void end_step(const StepSums step, bool is_tied, std::int64_t i,
                         const CurveSums& sums) {
  const Double d;
  const Vector negatives = hn::LoadU(d, sums.negatives + i);
  const Vector all_negatives = hn::Add(negatives, step.negatives);
  const Vector all_positives =
      hn::Add(hn::LoadU(d, sums.positives + i), step.positives);
  Vector term;
  if constexpr (kKind == CurveArea::kRoc) {
    const Vector below =
        is_tied ? hn::Mul(hn::Add(negatives, all_negatives), hn::Set(d, 0.5))
                : all_negatives;
    term = hn::Mul(step.positives, below);
  } else {
    const Vector beside =
        sums.negative_factors == nullptr
            ? all_negatives
            : hn::Mul(all_negatives, hn::LoadU(d, sums.negative_factors + i));
    const Vector precision =
        hn::Div(all_positives, hn::Add(all_positives, beside));
    term = hn::IfThenElseZero(hn::Gt(step.positives, hn::Zero(d)),
                              hn::Mul(step.positives, precision));
  }
  hn::StoreU(hn::Add(hn::LoadU(d, sums.area + i), term), d, sums.area + i);
  hn::StoreU(all_negatives, d, sums.negatives + i);
  hn::StoreU(all_positives, d, sums.positives + i);
}

HWY_INLINE void add_to(Vector more, double* sums) {
  const Double d;
  hn::StoreU(hn::Add(hn::LoadU(d, sums), more), d, sums);
}

// What the step has from earlier samples, which is cleared.
HWY_INLINE Vector taken(double* sums) {
  const Double d;
  const Vector sum = hn::LoadU(d, sums);
  hn::StoreU(hn::Zero(d), d, sums);
  return sum;
}

// Samples without weights: bytes are summed until the step ends.
template <CurveArea kKind>
void AddCounted(const std::uint8_t* weights, const std::uint8_t* marks,
                std::int64_t count, std::int64_t stride, bool continues,
                const CurveSums& sums) {
  const Byte d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  std::uint8_t positive_bytes[hn::MaxLanes(d)];
  std::uint8_t negative_bytes[hn::MaxLanes(d)];
  for (std::int64_t first = 0; first < stride; first += width) {
    Bytes positives = hn::Zero(d);
    Bytes negatives = hn::Zero(d);
    bool has_earlier = continues;
    const auto for_each_vector = [&](const auto& use) HWY_ATTR {
      hn::StoreU(positives, d, positive_bytes);
      hn::StoreU(negatives, d, negative_bytes);
      positives = hn::Zero(d);
      negatives = hn::Zero(d);
      for (std::int64_t i = 0; i < width; i += lanes()) {
        use(promoted(positive_bytes + i), promoted(negative_bytes + i),
            first + i);
      }
    };
    for (std::int64_t sample = 0; sample < count; ++sample) {
      const Bytes own = hn::LoadU(d, weights + sample * stride + first);
      if (marks[sample] & kIsPositive) {
        positives = hn::Add(positives, own);
      } else {
        negatives = hn::Add(negatives, own);
      }
      if ((marks[sample] & kEndsStep) == 0) continue;
      const bool is_tied = (marks[sample] & kIsTied) != 0;
      if (has_earlier) {
        for_each_vector([&](Vector p, Vector n, std::int64_t i) HWY_ATTR {
          end_step<kKind>({hn::Add(taken(sums.step_positives + i), p),
                           hn::Add(taken(sums.step_negatives + i), n)},
                          is_tied, i, sums);
        });
      } else {
        for_each_vector([&](Vector p, Vector n, std::int64_t i) HWY_ATTR {
          end_step<kKind>({p, n}, is_tied, i, sums);
        });
      }
      has_earlier = false;
    }
    if ((marks[count - 1] & kEndsStep) == 0) {
      for_each_vector([&](Vector p, Vector n, std::int64_t i) HWY_ATTR {
        add_to(p, sums.step_positives + i);
        add_to(n, sums.step_negatives + i);
      });
    }
  }
}

// Not fused, so that sums are the same on any processor.
template <CurveArea kKind>
void AddWeighted(const std::uint8_t* weights, const std::uint8_t* marks,
                 const double* factors, std::int64_t count, std::int64_t stride,
                 const CurveSums& sums) {
  const Double d;
  for (std::int64_t i = 0; i < stride; i += lanes()) {
    StepSums step = {hn::LoadU(d, sums.step_positives + i),
                     hn::LoadU(d, sums.step_negatives + i)};
    for (std::int64_t sample = 0; sample < count; ++sample) {
      const Vector own = hn::Mul(promoted(weights + sample * stride + i),
                                 hn::Set(d, factors[sample]));
      if (marks[sample] & kIsPositive) {
        step.positives = hn::Add(step.positives, own);
      } else {
        step.negatives = hn::Add(step.negatives, own);
      }
      if ((marks[sample] & kEndsStep) == 0) continue;
      end_step<kKind>(step, (marks[sample] & kIsTied) != 0, i, sums);
      step = {hn::Zero(d), hn::Zero(d)};
    }
    hn::StoreU(step.positives, d, sums.step_positives + i);
    hn::StoreU(step.negatives, d, sums.step_negatives + i);
  }
}

template <CurveArea kKind>
void AddKind(const std::uint8_t* weights, const std::uint8_t* marks,
             const double* factors, std::int64_t count, std::int64_t stride,
             bool continues, const CurveSums& sums) {
  if (factors == nullptr) {
    AddCounted<kKind>(weights, marks, count, stride, continues, sums);
  } else {
    AddWeighted<kKind>(weights, marks, factors, count, stride, sums);
  }
}

void AddSamples(CurveArea kind, const std::uint8_t* weights,
                const std::uint8_t* marks, const double* factors,
                std::int64_t count, std::int64_t stride, bool continues,
                const CurveSums& sums) {
  const auto add = kind == CurveArea::kRoc
                       ? AddKind<CurveArea::kRoc>
                       : AddKind<CurveArea::kPrecisionRecall>;
  add(weights, marks, factors, count, stride, continues, sums);
}

}  // namespace tally::internal::intervals::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::intervals {

HWY_EXPORT(AddSamples);

void add_samples(CurveArea kind, const std::uint8_t* weights,
                 const std::uint8_t* marks, const double* factors,
                 std::int64_t count, std::int64_t stride, bool continues,
                 const CurveSums& sums) {
  HWY_DYNAMIC_DISPATCH(AddSamples)
  (kind, weights, marks, factors, count, stride, continues, sums);
}

}  // namespace tally::internal::intervals
#endif  // HWY_ONCE
