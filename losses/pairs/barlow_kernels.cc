#include "tally/losses/pairs/barlow_kernels.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/pairs/barlow_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Double = hn::ScalableTag<double>;
using Single = hn::Rebind<float, Double>;
using Wide = hn::Vec<Double>;

HWY_INLINE Wide load(const double* from) { return hn::LoadU(Double(), from); }
HWY_INLINE Wide load(const float* from) {
  return hn::PromoteTo(Double(), hn::LoadU(Single(), from));
}

HWY_INLINE void store(const Wide values, double* to) {
  hn::StoreU(values, Double(), to);
}
HWY_INLINE void store(const Wide values, float* to) {
  hn::StoreU(hn::DemoteTo(Single(), values), Single(), to);
}

// As it is after store().
template <class T>
HWY_INLINE Wide stored(const Wide values) {
  if constexpr (std::is_same_v<T, double>) {
    return values;
  } else {
    return hn::PromoteTo(Double(), hn::DemoteTo(Single(), values));
  }
}

HWY_INLINE std::int64_t lanes() {
  return static_cast<std::int64_t>(hn::Lanes(Double()));
}

template <class T>
void center(const T* rows, std::int64_t count, std::int64_t features,
            double eps, T* centered, double* scale) {
  std::vector<double> means(static_cast<std::size_t>(features));
  for (std::int64_t i = 0; i < count; ++i) {
    const T* const row = rows + i * features;
    std::int64_t j = 0;
    for (; j + lanes() <= features; j += lanes()) {
      store(hn::Add(load(&means[j]), load(row + j)), &means[j]);
    }
    for (; j < features; ++j) means[j] += static_cast<double>(row[j]);
  }
  for (double& mean : means) mean /= static_cast<double>(count);
  std::fill_n(scale, features, 0.0);
  for (std::int64_t i = 0; i < count; ++i) {
    const T* const row = rows + i * features;
    T* const to = centered + i * features;
    std::int64_t j = 0;
    for (; j + lanes() <= features; j += lanes()) {
      const Wide own = hn::Sub(load(row + j), load(&means[j]));
      const Wide kept = stored<T>(own);
      store(own, to + j);
      store(hn::Add(load(scale + j), hn::Mul(kept, kept)), scale + j);
    }
    for (; j < features; ++j) {
      to[j] = static_cast<T>(static_cast<double>(row[j]) - means[j]);
      scale[j] += static_cast<double>(to[j]) * static_cast<double>(to[j]);
    }
  }
  for (std::int64_t j = 0; j < features; ++j) {
    scale[j] = 1 / std::sqrt(scale[j] / static_cast<double>(count) + eps);
  }
}

// The correlations of row i from feature j on.
template <class T>
HWY_INLINE Wide correlations(const Correlations<T>& all, std::int64_t i,
                             std::int64_t j) {
  const Wide product = load(all.products + i * all.features + j);
  const Wide by_a = hn::Mul(hn::Div(product, hn::Set(Double(), all.count)),
                            hn::Set(Double(), all.scale_a[i]));
  return hn::Mul(by_a, load(all.scale_b + j));
}

template <class T>
double squares(const Correlations<T>& all, std::int64_t i, std::int64_t begin,
               std::int64_t end) {
  Wide sums = hn::Zero(Double());
  std::int64_t j = begin;
  for (; j + lanes() <= end; j += lanes()) {
    const Wide c = correlations(all, i, j);
    sums = hn::Add(sums, hn::Mul(c, c));
  }
  double sum = hn::GetLane(hn::SumOfLanes(Double(), sums));
  for (; j < end; ++j) sum += all(i, j) * all(i, j);
  return sum;
}

template <class T>
double slopes_between(const Correlations<T>& all, std::int64_t i,
                      std::int64_t begin, std::int64_t end, double factor,
                      T* slopes, double* by_feature) {
  const Wide by_c = hn::Set(Double(), factor);
  const Wide scale = hn::Set(Double(), all.scale_a[i]);
  Wide sums = hn::Zero(Double());
  std::int64_t j = begin;
  for (; j + lanes() <= end; j += lanes()) {
    const Wide c = correlations(all, i, j);
    const Wide g = hn::Mul(by_c, c);
    const Wide product = hn::Mul(g, c);
    store(hn::Mul(hn::Mul(g, scale), load(all.scale_b + j)), slopes + j);
    store(hn::Sub(load(by_feature + j), product), by_feature + j);
    sums = hn::Add(sums, product);
  }
  double sum = hn::GetLane(hn::SumOfLanes(Double(), sums));
  for (; j < end; ++j) {
    const double c = all(i, j);
    const double g = factor * c;
    slopes[j] = static_cast<T>(g * all.scale_a[i] * all.scale_b[j]);
    by_feature[j] -= g * c;
    sum += g * c;
  }
  return sum;
}

template <class T>
double squares_but_own(const Correlations<T>& all, std::int64_t i) {
  return squares(all, i, 0, i) + squares(all, i, i + 1, all.features);
}

template <class T>
double slopes_of_row(const Correlations<T>& all, std::int64_t i, double factor,
                     double own, T* slopes, double* by_feature) {
  const double others =
      slopes_between(all, i, 0, i, factor, slopes, by_feature) +
      slopes_between(all, i, i + 1, all.features, factor, slopes, by_feature);
  slopes[i] = static_cast<T>(own * all.scale_a[i] * all.scale_b[i]);
  by_feature[i] -= own * all(i, i);
  return others + own * all(i, i);
}

void CenterF32(const float* rows, std::int64_t count, std::int64_t features,
               double eps, float* centered, double* scale) {
  center(rows, count, features, eps, centered, scale);
}
void CenterF64(const double* rows, std::int64_t count, std::int64_t features,
               double eps, double* centered, double* scale) {
  center(rows, count, features, eps, centered, scale);
}
double SquaresF32(const Correlations<float>& all, std::int64_t i) {
  return squares_but_own(all, i);
}
double SquaresF64(const Correlations<double>& all, std::int64_t i) {
  return squares_but_own(all, i);
}
double SlopesF32(const Correlations<float>& all, std::int64_t i, double factor,
                 double own, float* slopes, double* by_feature) {
  return slopes_of_row(all, i, factor, own, slopes, by_feature);
}
double SlopesF64(const Correlations<double>& all, std::int64_t i, double factor,
                 double own, double* slopes, double* by_feature) {
  return slopes_of_row(all, i, factor, own, slopes, by_feature);
}

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::losses::internal {

HWY_EXPORT(CenterF32);
HWY_EXPORT(CenterF64);
HWY_EXPORT(SquaresF32);
HWY_EXPORT(SquaresF64);
HWY_EXPORT(SlopesF32);
HWY_EXPORT(SlopesF64);

void center_rows(const float* rows, std::int64_t count, std::int64_t features,
                 double eps, float* centered, double* scale) {
  HWY_DYNAMIC_DISPATCH(CenterF32)(rows, count, features, eps, centered, scale);
}
void center_rows(const double* rows, std::int64_t count, std::int64_t features,
                 double eps, double* centered, double* scale) {
  HWY_DYNAMIC_DISPATCH(CenterF64)(rows, count, features, eps, centered, scale);
}

double other_squares(const Correlations<float>& all, std::int64_t i) {
  return HWY_DYNAMIC_DISPATCH(SquaresF32)(all, i);
}
double other_squares(const Correlations<double>& all, std::int64_t i) {
  return HWY_DYNAMIC_DISPATCH(SquaresF64)(all, i);
}

double correlation_slopes(const Correlations<float>& all, std::int64_t i,
                          double factor, double own, float* slopes,
                          double* by_feature) {
  return HWY_DYNAMIC_DISPATCH(SlopesF32)(all, i, factor, own, slopes,
                                         by_feature);
}
double correlation_slopes(const Correlations<double>& all, std::int64_t i,
                          double factor, double own, double* slopes,
                          double* by_feature) {
  return HWY_DYNAMIC_DISPATCH(SlopesF64)(all, i, factor, own, slopes,
                                         by_feature);
}

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
