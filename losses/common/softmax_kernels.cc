#include <algorithm>

#include "tally/losses/common/tile_kernels.h"
#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/common/softmax_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include "tally/losses/common/tile_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

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
  HWY_INLINE void run(std::int64_t j, hn::Mask<Tag<T>> mask) {
    const Tag<T> d;
    const Vector<T> value = load<kWhole>(q + j, columns - j);
    const Vector<T> of_row =
        exp_up_to_one<T>(hn::Mul(scale, hn::Sub(value, row_max)));
    const Vector<T> of_column = exp_up_to_one<T>(
        hn::Mul(scale, hn::Sub(value, hn::LoadU(d, column_max + j))));
    row_sum = hn::Add(row_sum, only<kWhole, T>(mask, of_row));
    hn::StoreU(
        hn::Add(hn::LoadU(d, column_sum + j), only<kWhole, T>(mask, of_column)),
        d, column_sum + j);
  }
};

template <class T>
void add_statistics(const Tile<const T>& tile, T* row_max, double* row_sum,
                    T* column_max, double* column_sum) {
  const Tag<T> d;
  // As many as a cache holds the statistics of.
  constexpr std::int64_t kColumns = 1024;
  alignas(64) T before[kColumns];
  alignas(64) T column_here[kColumns + kPadding];
  for (std::int64_t first = 0; first < tile.columns; first += kColumns) {
    const std::int64_t columns = std::min(kColumns, tile.columns - first);
    T* const of_columns = column_max + first;
    std::copy(of_columns, of_columns + columns, before);
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      MaxStep<T, true> max{tile.q + i * tile.columns + first, columns,
                           of_columns};
      for_each_vector<T>(columns, tile.left_out + i - first, max);
      const T here = hn::GetLane(hn::MaxOfLanes(d, max.row_max));
      if (here > row_max[i]) {
        if (row_sum[i] != 0) {
          row_sum[i] *= rescale(tile.scale, row_max[i], here);
        }
        row_max[i] = here;
      }
    }
    std::fill(column_here, column_here + columns + kPadding, T(0));
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      ExpSumStep<T> step{tile.q + i * tile.columns + first,
                         columns,
                         hn::Set(d, tile.scale),
                         hn::Set(d, row_max[i]),
                         of_columns,
                         column_here};
      for_each_vector<T>(columns, tile.left_out + i - first, step);
      row_sum[i] += sum<T>(step.row_sum);
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      double& total = column_sum[first + j];
      if (before[j] != of_columns[j] && total != 0) {
        total *= rescale(tile.scale, before[j], of_columns[j]);
      }
      total += column_here[j];
    }
  }
}

template <class T>
struct SoftmaxGradientStep {
  T* q;
  std::int64_t columns;
  Vector<T> scale;
  Vector<T> row_max;
  Vector<T> row_factor;
  const T* column_max;
  const T* column_factor;
  Vector<T> by_row = hn::Zero(Tag<T>());
  Vector<T> by_column = hn::Zero(Tag<T>());

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j, hn::Mask<Tag<T>> mask) {
    const Tag<T> d;
    const Vector<T> value = load<kWhole>(q + j, columns - j);
    const Vector<T> below_row = hn::Sub(value, row_max);
    const Vector<T> below_column = hn::Sub(value, hn::LoadU(d, column_max + j));
    const Vector<T> of_row = exp_up_to_one<T>(hn::Mul(scale, below_row));
    const Vector<T> of_column =
        hn::Mul(exp_up_to_one<T>(hn::Mul(scale, below_column)),
                hn::LoadU(d, column_factor + j));
    if (kWhole) {
      by_row = hn::MulAdd(of_row, below_row, by_row);
      by_column = hn::MulAdd(of_column, below_column, by_column);
    } else {
      by_row =
          hn::Add(by_row, hn::IfThenElseZero(mask, hn::Mul(of_row, below_row)));
      by_column =
          hn::Add(by_column,
                  hn::IfThenElseZero(mask, hn::Mul(of_column, below_column)));
    }
    store<kWhole, T>(hn::MulAdd(of_row, row_factor, of_column), mask, q + j);
  }
};

template <class T>
double gradient_of_softmax(const Tile<T>& tile, const SoftmaxTerms<T>& rows,
                           const SoftmaxTerms<T>& columns) {
  const Tag<T> d;
  double total = 0;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    SoftmaxGradientStep<T> step{tile.q + i * tile.columns,
                                tile.columns,
                                hn::Set(d, tile.scale),
                                hn::Set(d, rows.max[i]),
                                hn::Set(d, rows.factor[i]),
                                columns.max,
                                columns.factor};
    for_each_vector<T>(tile.columns, tile.left_out + i, step);
    total += static_cast<double>(rows.factor[i]) * sum<T>(step.by_row) +
             sum<T>(step.by_column);
  }
  return total;
}

// One function for each type, as dispatch needs.
void statistics_f32(const Tile<const float>& tile, float* row_max,
                    double* row_sum, float* column_max, double* column_sum) {
  add_statistics(tile, row_max, row_sum, column_max, column_sum);
}
void statistics_f64(const Tile<const double>& tile, double* row_max,
                    double* row_sum, double* column_max, double* column_sum) {
  add_statistics(tile, row_max, row_sum, column_max, column_sum);
}
double gradient_f32(const Tile<float>& tile, const SoftmaxTerms<float>& rows,
                    const SoftmaxTerms<float>& columns) {
  return gradient_of_softmax(tile, rows, columns);
}
double gradient_f64(const Tile<double>& tile, const SoftmaxTerms<double>& rows,
                    const SoftmaxTerms<double>& columns) {
  return gradient_of_softmax(tile, rows, columns);
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
                       double* row_sum, float* column_max, double* column_sum) {
  HWY_DYNAMIC_DISPATCH(statistics_f32)
  (tile, row_max, row_sum, column_max, column_sum);
}
void add_to_statistics(const Tile<const double>& tile, double* row_max,
                       double* row_sum, double* column_max,
                       double* column_sum) {
  HWY_DYNAMIC_DISPATCH(statistics_f64)
  (tile, row_max, row_sum, column_max, column_sum);
}
double softmax_gradient(const Tile<float>& tile,
                        const SoftmaxTerms<float>& rows,
                        const SoftmaxTerms<float>& columns) {
  return HWY_DYNAMIC_DISPATCH(gradient_f32)(tile, rows, columns);
}
double softmax_gradient(const Tile<double>& tile,
                        const SoftmaxTerms<double>& rows,
                        const SoftmaxTerms<double>& columns) {
  return HWY_DYNAMIC_DISPATCH(gradient_f64)(tile, rows, columns);
}

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
