#include "tally/metrics/classification/kernels/prediction_kernels.h"

#include <ATen/Parallel.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE \
  "metrics/classification/kernels/prediction_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "tally/metrics/common/largest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::internal::classification::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kNan = -1;
// Columns of scores at once: what is known of them stays in the cache.
constexpr std::int64_t kColumns = 512;

// The first place of `value`, which is there.
template <class T>
std::int64_t first_equal(const T* scores, std::int64_t classes, T value) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto wanted = hn::Set(d, value);
  std::int64_t c = 0;
  for (; c + lanes <= classes; c += lanes) {
    const auto found =
        hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, scores + c), wanted));
    if (found >= 0) return c + found;
  }
  while (c < classes - 1 && scores[c] != value) ++c;
  return c;
}

template <class T>
std::int64_t count_above(const T* scores, std::int64_t classes, T value) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto own = hn::Set(d, value);
  std::size_t above = 0;
  std::int64_t c = 0;
  for (; c + lanes <= classes; c += lanes) {
    above += hn::CountTrue(d, hn::Gt(hn::LoadU(d, scores + c), own));
  }
  for (; c < classes; ++c) above += scores[c] > value;
  return static_cast<std::int64_t>(above);
}

template <class T>
std::int64_t target_or_best(const T* scores, std::int64_t best,
                            std::int64_t target, std::int64_t classes,
                            std::int64_t top_k) {
  if (top_k == 1 || best == target || target < 0 || target >= classes) {
    return best;
  }
  std::int64_t above = count_above(scores, classes, scores[target]);
  for (std::int64_t i = 0; i < target && above < top_k; ++i) {
    above += scores[i] == scores[target];
  }
  return above < top_k ? target : best;
}

template <class T>
std::int64_t predict_row(const T* scores, std::int64_t target,
                         std::int64_t classes, std::int64_t top_k) {
  const T top = largest(scores, classes);
  if (top != top) return kNan;
  return target_or_best(scores, first_equal(scores, classes, top), target,
                        classes, top_k);
}

template <class T>
void predict_some(const T* scores, const std::int64_t* targets,
                  std::int64_t rows, std::int64_t classes, std::int64_t top_k,
                  std::int64_t* predicted) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t size = rows * classes;
  std::int64_t i = 0;
  if (classes <= lanes) {
    // A row is a part of one vector.
    const auto own = hn::FirstN(d, static_cast<std::size_t>(classes));
    const auto least = hn::Set(d, -std::numeric_limits<T>::infinity());
    for (; i * classes + lanes <= size; ++i) {
      const T* const row = scores + i * classes;
      const auto score = hn::IfThenElse(own, hn::LoadU(d, row), least);
      const auto largest = hn::MaxOfLanes(d, score);
      const std::int64_t best =
          hn::AllFalse(d, hn::IsNaN(score))
              ? hn::FindFirstTrue(d, hn::Eq(score, largest))
              : kNan;
      predicted[i] =
          top_k == 1 || best == kNan
              ? best
              : target_or_best(row, best, targets[i], classes, top_k);
    }
  }
  for (; i < rows; ++i) {
    predicted[i] =
        predict_row(scores + i * classes, targets[i], classes, top_k);
  }
}

void PredictFloat(const float* scores, const std::int64_t* targets,
                  std::int64_t rows, std::int64_t classes, std::int64_t top_k,
                  std::int64_t* predicted) {
  predict_some(scores, targets, rows, classes, top_k, predicted);
}
void PredictDouble(const double* scores, const std::int64_t* targets,
                   std::int64_t rows, std::int64_t classes, std::int64_t top_k,
                   std::int64_t* predicted) {
  predict_some(scores, targets, rows, classes, top_k, predicted);
}

template <class T, class Score>
const Score* converted(const T* row, std::int64_t size, Score* room) {
  if constexpr (std::is_same_v<T, Score>) {
    return row;
  } else {
    std::copy_n(row, size, room);
    return room;
  }
}

template <class T>
void predict_block(const T* scores, std::int64_t classes, std::int64_t stride,
                   std::int64_t columns, std::int64_t* predicted) {
  using Score = std::conditional_t<std::is_same_v<T, double>, double, float>;
  using Class = hwy::MakeSigned<Score>;
  const hn::ScalableTag<Score> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Score best[kColumns];
  Class best_class[kColumns];
  Score room[kColumns];
  std::copy_n(scores, columns, best);
  std::fill_n(best_class, columns, Class{0});
  for (std::int64_t c = 1; c < classes; ++c) {
    const Score* const row = converted(scores + c * stride, columns, room);
    const auto own = hn::Set(di, static_cast<Class>(c));
    std::int64_t i = 0;
    for (; i + lanes <= columns; i += lanes) {
      const auto score = hn::LoadU(d, row + i);
      const auto most = hn::LoadU(d, best + i);
      // NaN stays: nothing is greater.
      const auto better = hn::Or(hn::Gt(score, most), hn::IsNaN(score));
      hn::StoreU(hn::IfThenElse(better, score, most), d, best + i);
      hn::StoreU(hn::IfThenElse(hn::RebindMask(di, better), own,
                                hn::LoadU(di, best_class + i)),
                 di, best_class + i);
    }
    for (; i < columns; ++i) {
      const bool better = row[i] > best[i] || row[i] != row[i];
      best[i] = better ? row[i] : best[i];
      best_class[i] = better ? static_cast<Class>(c) : best_class[i];
    }
  }
  for (std::int64_t i = 0; i < columns; ++i) {
    predicted[i] = best[i] == best[i] ? best_class[i] : kNan;
  }
}

template <class T>
void predict_blocks(const void* scores, std::int64_t classes,
                    std::int64_t stride, std::int64_t begin, std::int64_t end,
                    std::int64_t* predicted) {
  for (std::int64_t i = begin; i < end; i += kColumns) {
    predict_block(static_cast<const T*>(scores) + i, classes, stride,
                  std::min(kColumns, end - i), predicted + i);
  }
}

void PredictColumns(const void* scores, at::ScalarType type,
                    std::int64_t classes, std::int64_t stride,
                    std::int64_t begin, std::int64_t end,
                    std::int64_t* predicted) {
  const auto predict = type == at::kFloat    ? predict_blocks<float>
                       : type == at::kDouble ? predict_blocks<double>
                       : type == at::kHalf   ? predict_blocks<at::Half>
                                             : predict_blocks<at::BFloat16>;
  predict(scores, classes, stride, begin, end, predicted);
}

}  // namespace tally::internal::classification::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::internal::classification {

HWY_EXPORT(PredictFloat);
HWY_EXPORT(PredictDouble);
HWY_EXPORT(PredictColumns);

namespace {

// So many are worth a thread.
constexpr std::int64_t kScores = std::int64_t{1} << 16;

// Calls predict(begin, end) for parts of all samples.
template <class Predict>
void in_parallel(std::int64_t samples, std::int64_t classes,
                 const Predict& predict) {
  const std::int64_t grain = std::max<std::int64_t>(kScores / classes, 1);
  if (samples <= grain) return predict(0, samples);
  at::parallel_for(0, samples, grain, predict);
}

}  // namespace

void predict_rows(const float* scores, const std::int64_t* targets,
                  std::int64_t rows, std::int64_t classes, std::int64_t top_k,
                  std::int64_t* predicted) {
  in_parallel(rows, classes, [=](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(PredictFloat)
    (scores + begin * classes, targets + begin, end - begin, classes, top_k,
     predicted + begin);
  });
}

void predict_rows(const double* scores, const std::int64_t* targets,
                  std::int64_t rows, std::int64_t classes, std::int64_t top_k,
                  std::int64_t* predicted) {
  in_parallel(rows, classes, [=](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(PredictDouble)
    (scores + begin * classes, targets + begin, end - begin, classes, top_k,
     predicted + begin);
  });
}

void predict_columns(const void* scores, c10::ScalarType type,
                     std::int64_t classes, std::int64_t stride,
                     std::int64_t columns, std::int64_t* predicted) {
  in_parallel(columns, classes, [=](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(PredictColumns)
    (scores, type, classes, stride, begin, end, predicted);
  });
}

}  // namespace tally::internal::classification
#endif  // HWY_ONCE
