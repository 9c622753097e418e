#include "tally/losses/contrastive/tile_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

// Two vector targets beside the baseline: more would only cost compile time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/contrastive/tile_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h, both.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

template <class T>
constexpr T kNone = -std::numeric_limits<T>::infinity();

// exp(x) for x up to about 1, within 2 ulp; 0 where that is subnormal. NaN
// stays NaN. Cephes' reduction and polynomial.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_below_one(const D d, const V x, float /*type*/) {
  const hn::RebindToSigned<D> di;
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504088896341f)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0f)));
  const auto exponent =
      hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  const V result = hn::Mul(p, hn::BitCast(d, exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33f)), result);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_below_one(const D d, const V x, double /*type*/) {
  // Highway's loses a NaN.
  return hn::IfThenElse(hn::Eq(x, x), hn::Exp(d, x), x);
}
template <class T>
HWY_INLINE Vector<T> exp_below_one(const Vector<T> x) {
  return exp_below_one(Tag<T>(), x, T());
}

// log(1 + e) for e from 0 to 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p_of_part(const D d, const V e, float /*type*/) {
  const V u = hn::Div(e, hn::Add(e, hn::Set(d, 2.0f)));
  const V v = hn::Mul(u, u);
  V p = hn::Set(d, 2.0f / 13);
  p = hn::MulAdd(p, v, hn::Set(d, 2.0f / 11));
  p = hn::MulAdd(p, v, hn::Set(d, 2.0f / 9));
  p = hn::MulAdd(p, v, hn::Set(d, 2.0f / 7));
  p = hn::MulAdd(p, v, hn::Set(d, 2.0f / 5));
  p = hn::MulAdd(p, v, hn::Set(d, 2.0f / 3));
  return hn::MulAdd(hn::Mul(p, v), u, hn::Add(u, u));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log1p_of_part(const D d, const V e, double /*type*/) {
  return hn::Log1p(d, e);
}

// A vector of a row, or what is left of it behind its last whole vector: then
// -infinity fills it up.
template <bool kWhole, class T>
HWY_INLINE Vector<T> load(const T* q, std::int64_t left) {
  const Tag<T> d;
  if (kWhole) return hn::LoadU(d, q);
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(left));
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, q), hn::Set(d, kNone<T>));
}

// Does not touch what is behind the row.
template <bool kWhole, class T>
HWY_INLINE void store(const Vector<T> value, T* q, std::int64_t left) {
  const Tag<T> d;
  if (kWhole) return hn::StoreU(value, d, q);
  hn::BlendedStore(value, hn::FirstN(d, static_cast<std::size_t>(left)), d, q);
}

// Calls step.run<true>(j) for each whole vector, run<false>(j) for the rest.
template <class T, class Step>
HWY_INLINE void for_each_vector(std::int64_t columns, Step& step) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  std::int64_t j = 0;
  for (; j + lanes <= columns; j += lanes) step.template run<true>(j);
  if (j < columns) step.template run<false>(j);
}

template <class T>
HWY_INLINE T sum(const Vector<T> v) {
  return hn::GetLane(hn::SumOfLanes(Tag<T>(), v));
}

// What a running sum is worth after its maximum has grown.
template <class T>
T rescale(T before, T after) {
  if (before == kNone<T>) return 0;
  return std::exp(before - after);
}

template <class T>
struct MaxStep {
  const T* q;
  std::int64_t columns;
  Vector<T> scale;
  T* column_max;
  Vector<T> row_max = hn::Set(Tag<T>(), kNone<T>);

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j) {
    const Tag<T> d;
    const Vector<T> raw = load<kWhole>(q + j, columns - j);
    Vector<T> t = hn::Mul(raw, scale);
    if (!kWhole) {
      t = hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(columns - j)),
                         t, hn::Set(d, kNone<T>));
    }
    row_max = hn::Max(row_max, t);
    if (column_max != nullptr) {
      hn::StoreU(hn::Max(hn::LoadU(d, column_max + j), t), d, column_max + j);
    }
  }
};

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

template <class T>
struct SigmoidStep {
  T* q;
  std::int64_t columns;
  Vector<T> scale;
  Vector<T> bias;
  Vector<T> weight;
  bool with_gradient;
  Vector<T> loss = hn::Zero(Tag<T>());
  Vector<T> logits = hn::Zero(Tag<T>());
  Vector<T> scales = hn::Zero(Tag<T>());

  template <bool kWhole>
  HWY_INLINE void run(std::int64_t j) {
    const Tag<T> d;
    const auto here = hn::FirstN(
        d, kWhole ? hn::Lanes(d) : static_cast<std::size_t>(columns - j));
    const Vector<T> value =
        kWhole ? hn::LoadU(d, q + j) : hn::MaskedLoad(here, d, q + j);
    const Vector<T> zero = hn::Zero(d);
    const Vector<T> one = hn::Set(d, T(1));
    const Vector<T> t = hn::MulAdd(value, scale, bias);
    const Vector<T> e = exp_below_one<T>(hn::Neg(hn::Abs(t)));
    // max(t, 0), where NaN stays.
    const Vector<T> positive = hn::IfThenZeroElse(hn::Lt(t, zero), t);
    const Vector<T> softplus = hn::Add(positive, log1p_of_part(d, e, T()));
    loss =
        hn::Add(loss, kWhole ? softplus : hn::IfThenElseZero(here, softplus));
    if (!with_gradient) return;
    const Vector<T> gradient = hn::Mul(
        weight,
        hn::Div(hn::IfThenElse(hn::Lt(t, zero), e, one), hn::Add(one, e)));
    logits =
        hn::Add(logits, kWhole ? gradient : hn::IfThenElseZero(here, gradient));
    scales = hn::MulAdd(gradient, value, scales);  // value is 0 behind the row
    store<kWhole>(gradient, q + j, columns - j);
  }
};

template <class T>
void add_sigmoid(const Tile<T>& tile, T bias, std::int64_t self, T weight,
                 bool with_gradient, SigmoidSums& sums) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    T* const q = tile.q + i * tile.columns;
    const std::int64_t pair = self + i;
    const bool paired = pair >= 0 && pair < tile.columns;
    const T product = paired ? q[pair] : 0;
    SigmoidStep<T> step{q,
                        tile.columns,
                        hn::Set(d, tile.scale),
                        hn::Set(d, bias),
                        hn::Set(d, weight),
                        with_gradient};
    for_each_vector<T>(tile.columns, step);
    sums.loss += sum<T>(step.loss);
    sums.logits += sum<T>(step.logits);
    sums.scale += sum<T>(step.scales);
    if (!paired) continue;
    // softplus(-t) = softplus(t) - t.
    sums.loss -= tile.scale * product + bias;
    if (!with_gradient) continue;
    q[pair] -= weight;
    sums.logits -= weight;
    sums.scale -= static_cast<double>(weight) * product;
  }
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
void sigmoid_f32(const Tile<float>& tile, float bias, std::int64_t self,
                 float weight, bool with_gradient, SigmoidSums& sums) {
  add_sigmoid(tile, bias, self, weight, with_gradient, sums);
}
void sigmoid_f64(const Tile<double>& tile, double bias, std::int64_t self,
                 double weight, bool with_gradient, SigmoidSums& sums) {
  add_sigmoid(tile, bias, self, weight, with_gradient, sums);
}

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::losses::internal {

HWY_EXPORT(statistics_f32);
HWY_EXPORT(statistics_f64);
HWY_EXPORT(gradient_f32);
HWY_EXPORT(gradient_f64);
HWY_EXPORT(alike_statistics_f32);
HWY_EXPORT(alike_statistics_f64);
HWY_EXPORT(alike_gradient_f32);
HWY_EXPORT(alike_gradient_f64);
HWY_EXPORT(sigmoid_f32);
HWY_EXPORT(sigmoid_f64);

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
SigmoidSums sigmoid(const Tile<float>& tile, float bias, std::int64_t self,
                    float weight, bool with_gradient) {
  SigmoidSums sums;
  HWY_DYNAMIC_DISPATCH(sigmoid_f32)
  (tile, bias, self, weight, with_gradient, sums);
  return sums;
}
SigmoidSums sigmoid(const Tile<double>& tile, double bias, std::int64_t self,
                    double weight, bool with_gradient) {
  SigmoidSums sums;
  HWY_DYNAMIC_DISPATCH(sigmoid_f64)
  (tile, bias, self, weight, with_gradient, sums);
  return sums;
}

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
