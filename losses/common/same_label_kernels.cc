#include "tally/losses/common/tile_kernels.h"
#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/common/same_label_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include "tally/losses/common/tile_math-inl.h"

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
struct SameLabelStep {
  const T* q;
  std::int64_t columns;
  Vector<T> scale;
  Vector<T> row_max;
  std::int32_t row_id;
  const std::int32_t* ids;
  Vector<T> others = hn::Zero(Tag<T>());
  Vector<T> positives = hn::Zero(Tag<T>());
  Vector<T> distance = hn::Zero(Tag<T>());
  Vector<T> found = hn::Zero(Tag<T>());

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j, hn::Mask<Tag<T>> mask) {
    const Tag<T> d;
    const Vector<T> value = load<kWhole>(q + j, columns - j);
    const Vector<T> below = hn::Sub(value, row_max);
    const Vector<T> term =
        only<kWhole, T>(mask, exp_up_to_one<T>(hn::Mul(scale, below)));
    auto same = same_id<T>(ids + j, row_id);
    if (!kWhole) same = hn::And(same, mask);
    others = hn::Add(others, hn::IfThenZeroElse(same, term));
    positives = hn::Add(positives, hn::IfThenElseZero(same, term));
    distance = hn::Sub(distance, hn::IfThenElseZero(same, below));
    found = hn::Add(found, hn::IfThenElseZero(same, hn::Set(d, T(1))));
  }
};

template <class T>
void add_same_label_statistics(const Tile<const T>& tile, const Ids& ids,
                               SameLabelStatistics* rows) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const T* const q = tile.q + i * tile.columns;
    SameLabelStatistics& row = rows[i];
    MaxStep<T, false> max{q, tile.columns, nullptr};
    for_each_vector<T>(tile.columns, tile.left_out + i, max);
    const double here = hn::GetLane(hn::MaxOfLanes(d, max.row_max));
    if (here > row.max) {
      if (row.others + row.positives != 0) {
        const double factor = rescale(tile.scale, row.max, here);
        row.others *= factor;
        row.positives *= factor;
      }
      if (row.found > 0) row.distance += row.found * (here - row.max);
      row.max = here;
    }
    SameLabelStep<T> step{q,
                          tile.columns,
                          hn::Set(d, tile.scale),
                          hn::Set(d, static_cast<T>(row.max)),
                          ids.rows[i],
                          ids.columns};
    for_each_vector<T>(tile.columns, tile.left_out + i, step);
    row.others += sum<T>(step.others);
    row.positives += sum<T>(step.positives);
    row.distance += sum<T>(step.distance);
    row.found += sum<T>(step.found);
  }
}

template <class T>
struct SameLabelGradientStep {
  T* q;
  std::int64_t columns;
  Vector<T> scale;
  Vector<T> row_max;
  Vector<T> row_factor;
  Vector<T> row_positives_factor;
  Vector<T> row_positives;
  std::int32_t row_id;
  const std::int32_t* ids;
  SameLabelTerms<T> of_columns;

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j, hn::Mask<Tag<T>> mask) {
    const Tag<T> d;
    const Vector<T> value = load<kWhole>(q + j, columns - j);
    const auto same = same_id<T>(ids + j, row_id);
    const Vector<T> of_row =
        exp_up_to_one<T>(hn::Mul(scale, hn::Sub(value, row_max)));
    const Vector<T> of_column = exp_up_to_one<T>(
        hn::Mul(scale, hn::Sub(value, hn::LoadU(d, of_columns.max + j))));
    const Vector<T> by_column = hn::Mul(
        of_column,
        hn::IfThenElse(same, hn::LoadU(d, of_columns.positives_factor + j),
                       hn::LoadU(d, of_columns.factor + j)));
    const Vector<T> positives =
        hn::Add(row_positives, hn::LoadU(d, of_columns.positives + j));
    const Vector<T> gradient = hn::Sub(
        hn::MulAdd(of_row,
                   hn::IfThenElse(same, row_positives_factor, row_factor),
                   by_column),
        hn::IfThenElseZero(same, positives));
    store<kWhole, T>(gradient, mask, q + j);
  }
};

template <class T>
void gradient_of_same_label(const Tile<T>& tile, const Ids& ids,
                            const SameLabelTerms<T>& rows,
                            const SameLabelTerms<T>& columns) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    T* const q = tile.q + i * tile.columns;
    SameLabelGradientStep<T> step{q,
                                  tile.columns,
                                  hn::Set(d, tile.scale),
                                  hn::Set(d, rows.max[i]),
                                  hn::Set(d, rows.factor[i]),
                                  hn::Set(d, rows.positives_factor[i]),
                                  hn::Set(d, rows.positives[i]),
                                  ids.rows[i],
                                  ids.columns,
                                  columns};
    const std::int64_t self = tile.left_out + i;
    for_each_vector<T>(tile.columns, self, step);
    if (self >= 0 && self < tile.columns) q[self] = 0;
  }
}

// One function for each type, as dispatch needs.
void same_label_statistics_f32(const Tile<const float>& tile, const Ids& ids,
                               SameLabelStatistics* rows) {
  add_same_label_statistics(tile, ids, rows);
}
void same_label_statistics_f64(const Tile<const double>& tile, const Ids& ids,
                               SameLabelStatistics* rows) {
  add_same_label_statistics(tile, ids, rows);
}
void same_label_gradient_f32(const Tile<float>& tile, const Ids& ids,
                             const SameLabelTerms<float>& rows,
                             const SameLabelTerms<float>& columns) {
  gradient_of_same_label(tile, ids, rows, columns);
}
void same_label_gradient_f64(const Tile<double>& tile, const Ids& ids,
                             const SameLabelTerms<double>& rows,
                             const SameLabelTerms<double>& columns) {
  gradient_of_same_label(tile, ids, rows, columns);
}

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::losses::internal {

HWY_EXPORT(same_label_statistics_f32);
HWY_EXPORT(same_label_statistics_f64);
HWY_EXPORT(same_label_gradient_f32);
HWY_EXPORT(same_label_gradient_f64);

void add_to_statistics(const Tile<const float>& tile, const Ids& ids,
                       SameLabelStatistics* rows) {
  HWY_DYNAMIC_DISPATCH(same_label_statistics_f32)(tile, ids, rows);
}
void add_to_statistics(const Tile<const double>& tile, const Ids& ids,
                       SameLabelStatistics* rows) {
  HWY_DYNAMIC_DISPATCH(same_label_statistics_f64)(tile, ids, rows);
}
void softmax_gradient(const Tile<float>& tile, const Ids& ids,
                      const SameLabelTerms<float>& rows,
                      const SameLabelTerms<float>& columns) {
  HWY_DYNAMIC_DISPATCH(same_label_gradient_f32)(tile, ids, rows, columns);
}
void softmax_gradient(const Tile<double>& tile, const Ids& ids,
                      const SameLabelTerms<double>& rows,
                      const SameLabelTerms<double>& columns) {
  HWY_DYNAMIC_DISPATCH(same_label_gradient_f64)(tile, ids, rows, columns);
}

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
