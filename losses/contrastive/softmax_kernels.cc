#include <algorithm>

#include "tally/losses/contrastive/tile_kernels.h"

// Two vector targets beside the baseline: more would only cost compile time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/contrastive/softmax_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include "tally/losses/contrastive/tile_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

template <class T>
struct ColumnRescaleStep {
  const T* before;
  const T* after;
  T* column_sum;

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j) {
    const Tag<T> d;
    const Vector<T> old = hn::LoadU(d, before + j);
    const Vector<T> factor =
        exp_below_one<T>(hn::Sub(old, hn::LoadU(d, after + j)));
    const Vector<T> value = hn::Mul(hn::LoadU(d, column_sum + j), factor);
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(old, hn::Set(d, kNone<T>)), value), d,
               column_sum + j);
  }
};

template <class T>
struct ExpSumStep {
  const T* q;
  std::int64_t columns;
  Vector<T> scale;
  Vector<T> row_max;
  const T* column_max;
  T* column_sum;
  Vector<T> row_sum = hn::Zero(Tag<T>());

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j) {
    const Tag<T> d;
    const Vector<T> t = hn::Mul(load<kWhole>(q + j, columns - j), scale);
    const Vector<T> of_row = exp_below_one<T>(hn::Sub(t, row_max));
    const Vector<T> of_column =
        exp_below_one<T>(hn::Sub(t, hn::LoadU(d, column_max + j)));
    row_sum = hn::Add(
        row_sum, kWhole
                     ? of_row
                     : hn::IfThenElseZero(
                           hn::FirstN(d, static_cast<std::size_t>(columns - j)),
                           of_row));
    hn::StoreU(hn::Add(hn::LoadU(d, column_sum + j), of_column), d,
               column_sum + j);
  }
};

template <class T>
void add_statistics(const Tile<const T>& tile, T* row_max, T* row_sum,
                    T* column_max, T* column_sum) {
  const Tag<T> d;
  const Vector<T> scale = hn::Set(d, tile.scale);
  // As many as a cache holds the statistics of.
  constexpr std::int64_t kColumns = 1024;
  alignas(64) T before[kColumns + kPadding];
  for (std::int64_t first = 0; first < tile.columns; first += kColumns) {
    const std::int64_t columns = std::min(kColumns, tile.columns - first);
    T* const of_columns = column_max + first;
    std::copy(of_columns, of_columns + columns + kPadding, before);
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      MaxStep<T> max{tile.q + i * tile.columns + first, columns, scale,
                     of_columns};
      for_each_vector<T>(columns, max);
      const T here = hn::GetLane(hn::MaxOfLanes(d, max.row_max));
      if (here > row_max[i]) {
        row_sum[i] *= rescale(row_max[i], here);
        row_max[i] = here;
      }
    }
    ColumnRescaleStep<T> rescaled{before, of_columns, column_sum + first};
    for_each_vector<T>(columns, rescaled);
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      ExpSumStep<T> step{tile.q + i * tile.columns + first,
                         columns,
                         scale,
                         hn::Set(d, row_max[i]),
                         of_columns,
                         column_sum + first};
      for_each_vector<T>(columns, step);
      row_sum[i] += sum<T>(step.row_sum);
    }
  }
}

template <class T>
struct SoftmaxGradientStep {
  T* q;
  std::int64_t columns;
  Vector<T> scale;
  Vector<T> row_lse;
  Vector<T> row_weight;
  const T* column_lse;
  Vector<T> column_weight;
  Vector<T> total = hn::Zero(Tag<T>());

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j) {
    const Tag<T> d;
    const Vector<T> value = load<kWhole>(q + j, columns - j);
    const Vector<T> t = hn::Mul(value, scale);
    const Vector<T> of_row = exp_below_one<T>(hn::Sub(t, row_lse));
    const Vector<T> of_column =
        exp_below_one<T>(hn::Sub(t, hn::LoadU(d, column_lse + j)));
    const Vector<T> gradient =
        hn::MulAdd(of_row, row_weight, hn::Mul(of_column, column_weight));
    const Vector<T> term = hn::Mul(gradient, value);
    total = hn::Add(
        total,
        kWhole
            ? term
            : hn::IfThenElseZero(
                  hn::FirstN(d, static_cast<std::size_t>(columns - j)), term));
    store<kWhole>(gradient, q + j, columns - j);
  }
};

template <class T>
double gradient_of_softmax(const Tile<T>& tile, const T* row_lse, T row_weight,
                           const T* column_lse, T column_weight) {
  const Tag<T> d;
  double total = 0;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    SoftmaxGradientStep<T> step{
        tile.q + i * tile.columns, tile.columns,
        hn::Set(d, tile.scale),    hn::Set(d, row_lse[i]),
        hn::Set(d, row_weight),    column_lse,
        hn::Set(d, column_weight)};
    for_each_vector<T>(tile.columns, step);
    total += sum<T>(step.total);
  }
  return total;
}

// One function for each type, as dispatch needs.
void statistics_f32(const Tile<const float>& tile, float* row_max,
                    float* row_sum, float* column_max, float* column_sum) {
  add_statistics(tile, row_max, row_sum, column_max, column_sum);
}
void statistics_f64(const Tile<const double>& tile, double* row_max,
                    double* row_sum, double* column_max, double* column_sum) {
  add_statistics(tile, row_max, row_sum, column_max, column_sum);
}
double gradient_f32(const Tile<float>& tile, const float* row_lse,
                    float row_weight, const float* column_lse,
                    float column_weight) {
  return gradient_of_softmax(tile, row_lse, row_weight, column_lse,
                             column_weight);
}
double gradient_f64(const Tile<double>& tile, const double* row_lse,
                    double row_weight, const double* column_lse,
                    double column_weight) {
  return gradient_of_softmax(tile, row_lse, row_weight, column_lse,
                             column_weight);
}

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::losses::internal {

HWY_EXPORT(statistics_f32);
HWY_EXPORT(statistics_f64);
HWY_EXPORT(gradient_f32);
HWY_EXPORT(gradient_f64);

void add_to_statistics(const Tile<const float>& tile, float* row_max,
                       float* row_sum, float* column_max, float* column_sum) {
  HWY_DYNAMIC_DISPATCH(statistics_f32)
  (tile, row_max, row_sum, column_max, column_sum);
}
void add_to_statistics(const Tile<const double>& tile, double* row_max,
                       double* row_sum, double* column_max,
                       double* column_sum) {
  HWY_DYNAMIC_DISPATCH(statistics_f64)
  (tile, row_max, row_sum, column_max, column_sum);
}
double softmax_gradient(const Tile<float>& tile, const float* row_lse,
                        float row_weight, const float* column_lse,
                        float column_weight) {
  return HWY_DYNAMIC_DISPATCH(gradient_f32)(tile, row_lse, row_weight,
                                            column_lse, column_weight);
}
double softmax_gradient(const Tile<double>& tile, const double* row_lse,
                        double row_weight, const double* column_lse,
                        double column_weight) {
  return HWY_DYNAMIC_DISPATCH(gradient_f64)(tile, row_lse, row_weight,
                                            column_lse, column_weight);
}

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
