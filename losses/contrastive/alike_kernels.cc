#include "tally/losses/contrastive/tile_kernels.h"

// Two vector targets beside the baseline: more would only cost compile time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/contrastive/alike_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include "tally/losses/contrastive/tile_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

// Ids in lanes as wide as T's.
HWY_INLINE hn::Vec<hn::RebindToSigned<Tag<float>>> load_ids(
    const std::int32_t* ids, float /*type*/) {
  return hn::LoadU(hn::RebindToSigned<Tag<float>>(), ids);
}
HWY_INLINE hn::Vec<hn::RebindToSigned<Tag<double>>> load_ids(
    const std::int32_t* ids, double /*type*/) {
  const hn::RebindToSigned<Tag<double>> d;
  return hn::PromoteTo(d,
                       hn::LoadU(hn::Rebind<std::int32_t, Tag<double>>(), ids));
}
template <class T>
HWY_INLINE hn::Mask<Tag<T>> same_id(const std::int32_t* ids, std::int32_t id) {
  const hn::RebindToSigned<Tag<T>> di;
  return hn::RebindMask(Tag<T>(), hn::Eq(load_ids(ids, T()), hn::Set(di, id)));
}

template <class T>
struct AlikeStep {
  const T* q;
  std::int64_t columns;
  Vector<T> scale;
  Vector<T> row_max;
  std::int32_t row_id;
  const std::int32_t* ids;
  Vector<T> row_sum = hn::Zero(Tag<T>());
  Vector<T> alike = hn::Zero(Tag<T>());

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j) {
    const Tag<T> d;
    const Vector<T> t = hn::Mul(load<kWhole>(q + j, columns - j), scale);
    const auto here = hn::FirstN(
        d, kWhole ? hn::Lanes(d) : static_cast<std::size_t>(columns - j));
    const Vector<T> term = exp_below_one<T>(hn::Sub(t, row_max));
    row_sum = hn::Add(row_sum, kWhole ? term : hn::IfThenElseZero(here, term));
    auto counts =
        hn::And(same_id<T>(ids + j, row_id), hn::Gt(t, hn::Set(d, kNone<T>)));
    if (!kWhole) counts = hn::And(counts, here);
    alike = hn::Add(alike, hn::IfThenElseZero(counts, t));
  }
};

template <class T>
void exclude_self(const Tile<T>& tile, std::int64_t self, T value) {
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const std::int64_t j = self + i;
    if (j >= 0 && j < tile.columns) tile.q[i * tile.columns + j] = value;
  }
}

template <class T>
T no_logit(T scale) {
  return scale > 0 ? kNone<T> : -kNone<T>;
}

template <class T>
void add_alike_statistics(const Tile<T>& tile, const Ids& ids, T* row_max,
                          T* row_sum, T* row_alike) {
  const Tag<T> d;
  exclude_self(tile, ids.self, no_logit(tile.scale));
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const T* const q = tile.q + i * tile.columns;
    MaxStep<T> max{q, tile.columns, hn::Set(d, tile.scale), nullptr};
    for_each_vector<T>(tile.columns, max);
    const T here = hn::GetLane(hn::MaxOfLanes(d, max.row_max));
    if (here > row_max[i]) {
      row_sum[i] *= rescale(row_max[i], here);
      row_max[i] = here;
    }
    // Nothing but itself so far: all terms are 0, or NaN.
    const T shift = row_max[i] == kNone<T> ? 0 : row_max[i];
    AlikeStep<T> step{
        q,           tile.columns, hn::Set(d, tile.scale), hn::Set(d, shift),
        ids.rows[i], ids.columns};
    for_each_vector<T>(tile.columns, step);
    row_sum[i] += sum<T>(step.row_sum);
    row_alike[i] += sum<T>(step.alike);
  }
}

template <class T>
struct AlikeGradientStep {
  T* q;
  std::int64_t columns;
  Vector<T> scale;
  Vector<T> row_lse;
  Vector<T> row_weight;
  Vector<T> row_alike;
  std::int32_t row_id;
  const std::int32_t* ids;
  const T* column_lse;
  const T* column_weight;
  const T* column_alike;

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j) {
    const Tag<T> d;
    const Vector<T> t = hn::Mul(load<kWhole>(q + j, columns - j), scale);
    const Vector<T> of_row = exp_below_one<T>(hn::Sub(t, row_lse));
    const Vector<T> of_column =
        exp_below_one<T>(hn::Sub(t, hn::LoadU(d, column_lse + j)));
    Vector<T> gradient =
        hn::MulAdd(of_row, row_weight,
                   hn::Mul(of_column, hn::LoadU(d, column_weight + j)));
    const Vector<T> alike = hn::Add(row_alike, hn::LoadU(d, column_alike + j));
    gradient = hn::Sub(gradient,
                       hn::IfThenElseZero(same_id<T>(ids + j, row_id), alike));
    store<kWhole>(gradient, q + j, columns - j);
  }
};

template <class T>
void gradient_of_alike(const Tile<T>& tile, const Ids& ids, const T* row_lse,
                       const T* row_weight, const T* row_alike,
                       const T* column_lse, const T* column_weight,
                       const T* column_alike) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    AlikeGradientStep<T> step{tile.q + i * tile.columns,
                              tile.columns,
                              hn::Set(d, tile.scale),
                              hn::Set(d, row_lse[i]),
                              hn::Set(d, row_weight[i]),
                              hn::Set(d, row_alike[i]),
                              ids.rows[i],
                              ids.columns,
                              column_lse,
                              column_weight,
                              column_alike};
    for_each_vector<T>(tile.columns, step);
  }
  exclude_self<T>(tile, ids.self, 0);
}

// One function for each type, as dispatch needs.
void alike_statistics_f32(const Tile<float>& tile, const Ids& ids,
                          float* row_max, float* row_sum, float* row_alike) {
  add_alike_statistics(tile, ids, row_max, row_sum, row_alike);
}
void alike_statistics_f64(const Tile<double>& tile, const Ids& ids,
                          double* row_max, double* row_sum, double* row_alike) {
  add_alike_statistics(tile, ids, row_max, row_sum, row_alike);
}
void alike_gradient_f32(const Tile<float>& tile, const Ids& ids,
                        const float* row_lse, const float* row_weight,
                        const float* row_alike, const float* column_lse,
                        const float* column_weight, const float* column_alike) {
  gradient_of_alike(tile, ids, row_lse, row_weight, row_alike, column_lse,
                    column_weight, column_alike);
}
void alike_gradient_f64(const Tile<double>& tile, const Ids& ids,
                        const double* row_lse, const double* row_weight,
                        const double* row_alike, const double* column_lse,
                        const double* column_weight,
                        const double* column_alike) {
  gradient_of_alike(tile, ids, row_lse, row_weight, row_alike, column_lse,
                    column_weight, column_alike);
}

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::losses::internal {

HWY_EXPORT(alike_statistics_f32);
HWY_EXPORT(alike_statistics_f64);
HWY_EXPORT(alike_gradient_f32);
HWY_EXPORT(alike_gradient_f64);

void add_to_statistics(const Tile<float>& tile, const Ids& ids, float* row_max,
                       float* row_sum, float* row_alike) {
  HWY_DYNAMIC_DISPATCH(alike_statistics_f32)
  (tile, ids, row_max, row_sum, row_alike);
}
void add_to_statistics(const Tile<double>& tile, const Ids& ids,
                       double* row_max, double* row_sum, double* row_alike) {
  HWY_DYNAMIC_DISPATCH(alike_statistics_f64)
  (tile, ids, row_max, row_sum, row_alike);
}
void softmax_gradient(const Tile<float>& tile, const Ids& ids,
                      const float* row_lse, const float* row_weight,
                      const float* row_alike, const float* column_lse,
                      const float* column_weight, const float* column_alike) {
  HWY_DYNAMIC_DISPATCH(alike_gradient_f32)
  (tile, ids, row_lse, row_weight, row_alike, column_lse, column_weight,
   column_alike);
}
void softmax_gradient(const Tile<double>& tile, const Ids& ids,
                      const double* row_lse, const double* row_weight,
                      const double* row_alike, const double* column_lse,
                      const double* column_weight, const double* column_alike) {
  HWY_DYNAMIC_DISPATCH(alike_gradient_f64)
  (tile, ids, row_lse, row_weight, row_alike, column_lse, column_weight,
   column_alike);
}

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
