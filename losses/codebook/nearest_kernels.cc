#include "tally/losses/codebook/nearest_kernels.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/codebook/nearest_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include <hwy/highway.h>

#include "tally/metrics/common/load_wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using tally::internal::HWY_NAMESPACE::load_wide;

// So many values are looked at before it is known whether one of them leads.
constexpr std::int64_t kBlock = kValuesInBlock;

template <class T>
void sum_some_squares(const T* HWY_RESTRICT rows, std::int64_t count,
                      std::int64_t dims, double* HWY_RESTRICT sums) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; ++i, rows += dims) {
    auto even = hn::Zero(d);
    auto odd = hn::Zero(d);
    std::int64_t k = 0;
    for (; k + 2 * lanes <= dims; k += 2 * lanes) {
      const auto a = load_wide(d, rows + k);
      const auto b = load_wide(d, rows + k + lanes);
      even = hn::MulAdd(a, a, even);
      odd = hn::MulAdd(b, b, odd);
    }
    double sum = k > 0 ? hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd))) : 0;
    for (; k < dims; ++k) {
      const auto value = static_cast<double>(rows[k]);
      sum += value * value;
    }
    sums[i] = sum;
  }
}

// Of `count` values, less `less`, the largest.
template <class T>
HWY_INLINE T subtract_and_top(T* HWY_RESTRICT values,
                              const T* HWY_RESTRICT less, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr T kLeast = -std::numeric_limits<T>::infinity();
  // Each waits for itself alone.
  auto a = hn::Set(d, kLeast);
  auto b = a;
  const auto take = [&](std::int64_t j, auto& largest) {
    const auto value =
        hn::Sub(hn::LoadU(d, values + j), hn::LoadU(d, less + j));
    hn::StoreU(value, d, values + j);
    largest = hn::IfThenElse(hn::Gt(value, largest), value, largest);
  };
  std::int64_t j = 0;
  for (; j + 2 * lanes <= count; j += 2 * lanes) {
    take(j, a);
    take(j + lanes, b);
  }
  for (; j + lanes <= count; j += lanes) take(j, a);
  const auto largest = hn::IfThenElse(hn::Gt(a, b), a, b);
  T top = j > 0 ? hn::GetLane(hn::MaxOfLanes(d, largest)) : kLeast;
  for (; j < count; ++j) {
    values[j] -= less[j];
    if (values[j] > top) top = values[j];
  }
  return top;
}

// Of `count` values, the place of the only one from `threshold` on; -1 if
// there are none, -2 if there are more.
template <class T>
HWY_INLINE std::int64_t find_only(const T* HWY_RESTRICT values,
                                  std::int64_t count, T threshold) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto least = hn::Set(d, threshold);
  std::int64_t place = -1;
  std::int64_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    const auto high = hn::Ge(hn::LoadU(d, values + j), least);
    if (hn::AllFalse(d, high)) continue;
    if (place >= 0 || hn::CountTrue(d, high) > 1) return -2;
    place = j + static_cast<std::int64_t>(hn::FindFirstTrue(d, high));
  }
  for (; j < count; ++j) {
    if (!(values[j] >= threshold)) continue;
    if (place >= 0) return -2;
    place = j;
  }
  return place;
}

template <class T>
void find_some_leads(T* HWY_RESTRICT values, const T* HWY_RESTRICT less,
                     std::int64_t rows, std::int64_t count,
                     const double* HWY_RESTRICT margins, T* HWY_RESTRICT tops,
                     std::int64_t* HWY_RESTRICT found) {
  for (std::int64_t i = 0; i < rows; ++i, values += count) {
    T best = -std::numeric_limits<T>::infinity();
    for (std::int64_t block = 0, k = 0; block < count; block += kBlock, ++k) {
      tops[k] = subtract_and_top(values + block, less + block,
                                 std::min(kBlock, count - block));
      best = std::max(best, tops[k]);
    }
    // What is at least a number, is at least what that is rounded to.
    const T threshold = static_cast<T>(best - margins[i]);
    std::int64_t place = -1;
    for (std::int64_t block = 0, k = 0; block < count && place != -2;
         block += kBlock, ++k) {
      if (!(tops[k] >= threshold)) continue;
      const std::int64_t only =
          find_only(values + block, std::min(kBlock, count - block), threshold);
      place = place >= 0 || only == -2 ? -2 : block + only;
    }
    found[i] = std::max<std::int64_t>(place, -1);
  }
}

void SumSquares32(const float* rows, std::int64_t count, std::int64_t dims,
                  double* sums) {
  sum_some_squares(rows, count, dims, sums);
}
void SumSquares64(const double* rows, std::int64_t count, std::int64_t dims,
                  double* sums) {
  sum_some_squares(rows, count, dims, sums);
}

void FindLeads32(float* values, const float* less, std::int64_t rows,
                 std::int64_t count, const double* margins, float* tops,
                 std::int64_t* found) {
  find_some_leads(values, less, rows, count, margins, tops, found);
}
void FindLeads64(double* values, const double* less, std::int64_t rows,
                 std::int64_t count, const double* margins, double* tops,
                 std::int64_t* found) {
  find_some_leads(values, less, rows, count, margins, tops, found);
}

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::losses::internal {

HWY_EXPORT(SumSquares32);
HWY_EXPORT(SumSquares64);
HWY_EXPORT(FindLeads32);
HWY_EXPORT(FindLeads64);

void sum_squares(const float* rows, std::int64_t count, std::int64_t dims,
                 double* sums) {
  HWY_DYNAMIC_DISPATCH(SumSquares32)(rows, count, dims, sums);
}
void sum_squares(const double* rows, std::int64_t count, std::int64_t dims,
                 double* sums) {
  HWY_DYNAMIC_DISPATCH(SumSquares64)(rows, count, dims, sums);
}

template <class T>
void find_leads(T* values, const T* less, std::int64_t rows, std::int64_t count,
                const double* margins, std::int64_t* found) {
  std::vector<T> tops((count + kValuesInBlock - 1) / kValuesInBlock);
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(FindLeads32)
    (values, less, rows, count, margins, tops.data(), found);
  } else {
    HWY_DYNAMIC_DISPATCH(FindLeads64)
    (values, less, rows, count, margins, tops.data(), found);
  }
}

template void find_leads(float*, const float*, std::int64_t, std::int64_t,
                         const double*, std::int64_t*);
template void find_leads(double*, const double*, std::int64_t, std::int64_t,
                         const double*, std::int64_t*);

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
