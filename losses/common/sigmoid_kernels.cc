#include "tally/losses/common/tile_kernels.h"
#include "tally/metrics/common/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "losses/common/sigmoid_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind foreach_target.h.
#include "tally/losses/common/tile_math-inl.h"

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
  HWY_INLINE void run(std::int64_t j, hn::Mask<Tag<T>> mask) {
    const Tag<T> d;
    const Vector<T> value = load<kWhole>(q + j, columns - j);
    const Vector<T> zero = hn::Zero(d);
    const Vector<T> one = hn::Set(d, T(1));
    const Vector<T> t = hn::MulAdd(value, scale, bias);
    const Vector<T> e = exp_up_to_one<T>(hn::Neg(hn::Abs(t)));
    // max(t, 0), where NaN stays.
    const Vector<T> positive = hn::IfThenZeroElse(hn::Lt(t, zero), t);
    const Vector<T> softplus = hn::Add(positive, log1p_of_part(d, e, T()));
    loss = hn::Add(loss, only<kWhole, T>(mask, softplus));
    if (!with_gradient) return;
    const Vector<T> gradient = hn::Mul(
        weight,
        hn::Div(hn::IfThenElse(hn::Lt(t, zero), e, one), hn::Add(one, e)));
    logits = hn::Add(logits, only<kWhole, T>(mask, gradient));
    scales = hn::Add(scales, only<kWhole, T>(mask, hn::Mul(gradient, value)));
    store<kWhole, T>(gradient, mask, q + j);
  }
};

// A pair's loss is softplus(-t), which may be far smaller than t.
template <class T>
void add_pair(T& q, T scale, T bias, T weight, bool with_gradient,
              SigmoidSums& sums) {
  const double product = q;
  const double t = static_cast<double>(scale) * product + bias;
  const double e = std::exp(-std::abs(t));
  sums.loss += std::log1p(e) + (t > 0 ? 0 : -t);
  if (!with_gradient) return;
  const double gradient = -weight * (t > 0 ? e : 1) / (1 + e);
  q = static_cast<T>(gradient);
  sums.logits += gradient;
  sums.scale += gradient * product;
}

template <class T>
void add_sigmoid(const Tile<T>& tile, T bias, T weight, bool with_gradient,
                 SigmoidSums& sums) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    T* const q = tile.q + i * tile.columns;
    const std::int64_t pair = tile.left_out + i;
    SigmoidStep<T> step{q,
                        tile.columns,
                        hn::Set(d, tile.scale),
                        hn::Set(d, bias),
                        hn::Set(d, weight),
                        with_gradient};
    for_each_vector<T>(tile.columns, pair, step);
    sums.loss += sum<T>(step.loss);
    sums.logits += sum<T>(step.logits);
    sums.scale += sum<T>(step.scales);
    if (pair < 0 || pair >= tile.columns) continue;
    add_pair(q[pair], tile.scale, bias, weight, with_gradient, sums);
  }
}

// One function for each type, as dispatch needs.
void sigmoid_f32(const Tile<float>& tile, float bias, float weight,
                 bool with_gradient, SigmoidSums& sums) {
  add_sigmoid(tile, bias, weight, with_gradient, sums);
}
void sigmoid_f64(const Tile<double>& tile, double bias, double weight,
                 bool with_gradient, SigmoidSums& sums) {
  add_sigmoid(tile, bias, weight, with_gradient, sums);
}

}  // namespace tally::losses::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::losses::internal {

HWY_EXPORT(sigmoid_f32);
HWY_EXPORT(sigmoid_f64);

SigmoidSums sigmoid(const Tile<float>& tile, float bias, float weight,
                    bool with_gradient) {
  SigmoidSums sums;
  HWY_DYNAMIC_DISPATCH(sigmoid_f32)(tile, bias, weight, with_gradient, sums);
  return sums;
}
SigmoidSums sigmoid(const Tile<double>& tile, double bias, double weight,
                    bool with_gradient) {
  SigmoidSums sums;
  HWY_DYNAMIC_DISPATCH(sigmoid_f64)(tile, bias, weight, with_gradient, sums);
  return sums;
}

}  // namespace tally::losses::internal
#endif  // HWY_ONCE
