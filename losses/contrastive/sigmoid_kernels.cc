#include "tally/losses/contrastive/tile_kernels.h"

// Two vector targets beside the baseline: more would only cost compile time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/contrastive/sigmoid_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include "tally/losses/contrastive/tile_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::losses::internal::HWY_NAMESPACE {

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

HWY_EXPORT(sigmoid_f32);
HWY_EXPORT(sigmoid_f64);

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
