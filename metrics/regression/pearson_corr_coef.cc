#include "tally/metrics/regression/pearson_corr_coef.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/checks.h"
#include "tally/metrics/plain_values.h"
#include "tally/metrics/regression/inputs.h"

namespace tally {
namespace {

using State = JointMoments::State;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Samples to which one shift applies: few enough for sums of squares about it
// to keep their precision.
constexpr std::int64_t kBlock = 2048;

template <class T>
struct Moments {
  T mean_preds{}, mean_target{};
  T squares_preds{}, squares_target{}, products{};
};

// Where both are constant and equal, the differences are exactly 0 and the
// result is again exactly constant.
template <class T>
Moments<T> merge_moments(const Moments<T>& a, double count_a,
                         const Moments<T>& b, double count_b) {
  const double share = count_b / (count_a + count_b);
  const T preds = b.mean_preds - a.mean_preds;
  const T target = b.mean_target - a.mean_target;
  const T factor = count_a * share;
  return {a.mean_preds + preds * share, a.mean_target + target * share,
          a.squares_preds + b.squares_preds + preds * preds * factor,
          a.squares_target + b.squares_target + target * target * factor,
          a.products + b.products + preds * target * factor};
}

// One pass: sums of the differences from the first sample, which of a constant
// input are exactly 0. `stride` elements lie between samples.
template <class T>
Moments<double> block_moments(const T* preds, const T* target,
                              std::int64_t count, std::int64_t stride) {
  const double first_preds = static_cast<double>(*preds);
  const double first_target = static_cast<double>(*target);
  constexpr int kLanes = 4;
  double p[kLanes] = {}, t[kLanes] = {};
  double pp[kLanes] = {}, tt[kLanes] = {}, pt[kLanes] = {};
  const auto add = [&](std::int64_t i, int lane) {
    const double dp = static_cast<double>(preds[i * stride]) - first_preds;
    const double dt = static_cast<double>(target[i * stride]) - first_target;
    p[lane] += dp;
    t[lane] += dt;
    pp[lane] += dp * dp;
    tt[lane] += dt * dt;
    pt[lane] += dp * dt;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  for (; i < count; ++i) add(i, 0);
  const auto total = [](const double* lanes) {
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  };
  const double mean_p = total(p) / static_cast<double>(count);
  const double mean_t = total(t) / static_cast<double>(count);
  return {first_preds + mean_p, first_target + mean_t,
          total(pp) - mean_p * total(p), total(tt) - mean_t * total(t),
          total(pt) - mean_p * total(t)};
}

template <class T>
Moments<double> plain_moments(const T* preds, const T* target,
                              std::int64_t count, std::int64_t stride) {
  Moments<double> result =
      block_moments(preds, target, std::min(count, kBlock), stride);
  for (std::int64_t done = kBlock; done < count; done += kBlock) {
    const std::int64_t size = std::min(count - done, kBlock);
    result = merge_moments(result, static_cast<double>(done),
                           block_moments(preds + done * stride,
                                         target + done * stride, size, stride),
                           static_cast<double>(size));
  }
  return result;
}

// Column `output` of [5, outputs].
Moments<double> column(const double* moments, std::int64_t outputs,
                       std::int64_t output) {
  const double* m = moments + output;
  return {m[0], m[outputs], m[2 * outputs], m[3 * outputs], m[4 * outputs]};
}

void set_column(double* moments, std::int64_t outputs, std::int64_t output,
                const Moments<double>& value) {
  double* m = moments + output;
  m[0] = value.mean_preds;
  m[outputs] = value.mean_target;
  m[2 * outputs] = value.squares_preds;
  m[3 * outputs] = value.squares_target;
  m[4 * outputs] = value.products;
}

at::Tensor plain_output_moments(const at::Tensor& preds,
                                const at::Tensor& target) {
  const std::int64_t count = preds.size(0);
  const std::int64_t outputs = preds.size(1);
  at::Tensor result = at::empty({5, outputs}, at::kDouble);
  double* moments = result.mutable_data_ptr<double>();
  internal::visit_values(preds, target, [=](const auto* p, const auto* t) {
    for (std::int64_t i = 0; i < outputs; ++i) {
      set_column(moments, outputs, i,
                 plain_moments(p + i, t + i, count, outputs));
    }
  });
  return result;
}

// Of [N] or [N, outputs], along dimension 0.
Moments<at::Tensor> tensor_moments(const at::Tensor& preds,
                                   const at::Tensor& target) {
  const auto about_first = [](const at::Tensor& input) {
    const at::Tensor wide = input.to(at::kDouble);
    const at::Tensor first = wide.select(0, 0).detach();
    return std::make_pair(first, wide.sub(first));
  };
  const auto [first_preds, from_first_preds] = about_first(preds);
  const auto [first_target, from_first_target] = about_first(target);
  const at::Tensor mean_preds = from_first_preds.mean(0);
  const at::Tensor mean_target = from_first_target.mean(0);
  const at::Tensor p = from_first_preds.sub(mean_preds);
  const at::Tensor t = from_first_target.sub(mean_target);
  return {first_preds.add(mean_preds), first_target.add(mean_target),
          p.square().sum(0), t.square().sum(0), p.mul(t).sum(0)};
}

Moments<Number> numbers(const State& state) {
  return {state.mean_preds, state.mean_target, state.squares_preds,
          state.squares_target, state.products};
}

State state_of(std::int64_t total, const Moments<Number>& moments) {
  return {total,
          moments.mean_preds,
          moments.mean_target,
          moments.squares_preds,
          moments.squares_target,
          moments.products,
          {}};
}

at::Tensor merge_outputs(const at::Tensor& a, double count_a,
                         const at::Tensor& b, double count_b) {
  if (internal::is_plain(a) && internal::is_plain(b)) {
    const std::int64_t outputs = a.size(1);
    at::Tensor result = at::empty({5, outputs}, at::kDouble);
    double* to = result.mutable_data_ptr<double>();
    const double* from_a = a.const_data_ptr<double>();
    const double* from_b = b.const_data_ptr<double>();
    for (std::int64_t i = 0; i < outputs; ++i) {
      set_column(to, outputs, i,
                 merge_moments(column(from_a, outputs, i), count_a,
                               column(from_b, outputs, i), count_b));
    }
    return result;
  }
  const double share = count_b / (count_a + count_b);
  const at::Tensor means = a.narrow(0, 0, 2);
  const at::Tensor delta = b.narrow(0, 0, 2).sub(means);
  const at::Tensor preds = delta.select(0, 0);
  const at::Tensor target = delta.select(0, 1);
  const at::Tensor between =
      at::stack({preds.square(), target.square(), preds.mul(target)});
  return at::cat(
      {means.add(delta, share),
       a.narrow(0, 2, 3).add(b.narrow(0, 2, 3)).add(between, count_a * share)});
}

// Without variance NaN, with a gradient of 0: that of the root would be
// infinite, and NaN even for outputs whose value nobody uses.
at::Tensor correlation(const at::Tensor& products,
                       const at::Tensor& squares_preds,
                       const at::Tensor& squares_target) {
  const at::Tensor undefined =
      squares_preds.gt(0).logical_and(squares_target.gt(0)).logical_not();
  const at::Tensor norm =
      squares_preds.masked_fill(undefined, 1)
          .sqrt()
          .mul(squares_target.masked_fill(undefined, 1).sqrt());
  return products.div(norm).clamp(-1, 1).masked_fill(undefined, kNaN);
}

bool has_nan(const State& state) {
  return std::isnan((state.squares_preds + state.squares_target).value()) ||
         (state.outputs.defined() && internal::has_nan(state.outputs));
}

}  // namespace

void PearsonCorrCoefOptions::validate(const char* metric) const {
  internal::check_num_outputs(metric, num_outputs_);
}

JointMoments::State JointMoments::State::merge(const State& a, const State& b) {
  if (a.total == 0) return b;
  if (b.total == 0) return a;
  const auto count_a = static_cast<double>(a.total);
  const auto count_b = static_cast<double>(b.total);
  if (!a.outputs.defined() && !b.outputs.defined()) {
    return state_of(a.total + b.total,
                    merge_moments(numbers(a), count_a, numbers(b), count_b));
  }
  TORCH_CHECK_VALUE(a.outputs.defined() && b.outputs.defined() &&
                        a.outputs.sizes() == b.outputs.sizes(),
                    "expected moments of the same number of outputs");
  State merged;
  merged.total = a.total + b.total;
  merged.outputs = merge_outputs(a.outputs, count_a, b.outputs, count_b);
  return merged;
}

JointMoments::State JointMoments::observe(const at::Tensor& preds,
                                          const at::Tensor& target) const {
  internal::check_outputs(preds, target, num_outputs_);
  if (preds.is_cpu() || nan_policy_ == NanPolicy::kPropagate) {
    State state = moments(preds, target);
    // A NaN in the inputs would have come through.
    if (nan_policy_ == NanPolicy::kPropagate || !has_nan(state)) return state;
  }
  const auto [kept_preds, kept_target] =
      internal::handle_nan(preds, target, num_outputs_, nan_policy_);
  return moments(kept_preds, kept_target);
}

JointMoments::State JointMoments::moments(const at::Tensor& preds,
                                          const at::Tensor& target) const {
  const std::int64_t total = preds.numel() / num_outputs_;
  if (total == 0) return {};
  const bool plain = internal::is_plain(preds) && internal::is_plain(target);
  if (num_outputs_ == 1) {
    if (plain) {
      const Moments<double> m = internal::visit_values(
          preds, target, [total](const auto* p, const auto* t) {
            return plain_moments(p, t, total, 1);
          });
      return state_of(total, {m.mean_preds, m.mean_target, m.squares_preds,
                              m.squares_target, m.products});
    }
    const Moments<at::Tensor> m =
        tensor_moments(preds.reshape(-1), target.reshape(-1));
    return state_of(total, {Number(m.mean_preds), Number(m.mean_target),
                            Number(m.squares_preds), Number(m.squares_target),
                            Number(m.products)});
  }
  State state;
  state.total = total;
  if (plain) {
    state.outputs = plain_output_moments(preds, target);
  } else {
    const Moments<at::Tensor> m = tensor_moments(preds, target);
    state.outputs = at::stack({m.mean_preds, m.mean_target, m.squares_preds,
                               m.squares_target, m.products});
  }
  return state;
}

at::Tensor PearsonCorrCoef::evaluate(const State& state) const {
  const std::int64_t count = options().num_outputs();
  if (count > 1) {
    return state.outputs.defined() ? correlation(state.outputs.select(0, 4),
                                                 state.outputs.select(0, 2),
                                                 state.outputs.select(0, 3))
                                   : at::full({count}, kNaN, at::kDouble);
  }
  const Number& products = state.products;
  if (products.is_plain() && state.squares_preds.is_plain() &&
      state.squares_target.is_plain()) {
    // Without variance, or without samples, this is 0 / 0.
    const double value =
        products.value() / (std::sqrt(state.squares_preds.value()) *
                            std::sqrt(state.squares_target.value()));
    return Number(std::clamp(value, -1.0, 1.0));
  }
  return correlation(products.tensor(), state.squares_preds.tensor(),
                     state.squares_target.tensor());
}

}  // namespace tally
