#include "tally/metrics/regression/joint_moments.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/stack.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/checks.h"
#include "tally/metrics/plain_values.h"

namespace tally {
namespace {

using internal::kMomentRows;
using internal::Moments;
using internal::Samples;
using State = JointMoments::State;

// Samples to which one shift applies: few enough for sums of squares about it
// to keep their precision.
constexpr std::int64_t kBlock = 2048;
// Samples that one thread takes at a time. Fixed, so that results do not depend
// on the number of threads.
constexpr std::int64_t kChunk = 32 * kBlock;

double nonzero(double weight) { return weight == 0 ? 1 : weight; }
Number nonzero(const Number& weight) {
  if (weight.is_plain()) return nonzero(weight.value());
  return Number(weight.tensor().masked_fill(weight.tensor().eq(0), 1));
}

// Where both are constant and equal, the differences are exactly 0 and the
// result is again exactly constant.
template <class T>
Moments<T> merge_moments(const Moments<T>& a, const T& weight_a,
                         const Moments<T>& b, const T& weight_b) {
  const T share = weight_b / nonzero(weight_a + weight_b);
  const T preds = b.mean_preds - a.mean_preds;
  const T target = b.mean_target - a.mean_target;
  const T factor = weight_a * share;
  return {a.mean_preds + preds * share,
          a.mean_target + target * share,
          a.squares_preds + b.squares_preds + preds * preds * factor,
          a.squares_target + b.squares_target + target * target * factor,
          a.products + b.products + preds * target * factor,
          a.squared_error + b.squared_error};
}

struct WeightedMoments {
  Moments<double> moments;
  double weight = 0;
};

void merge_into(WeightedMoments& a, const WeightedMoments& b) {
  if (a.weight == 0) {
    a = b;
  } else {
    a.moments = merge_moments(a.moments, a.weight, b.moments, b.weight);
    a.weight += b.weight;
  }
}

// Sums about the first sample, of which those of a constant are exactly 0.
struct ShiftedSums {
  double weight, preds, target, preds_preds, target_target, preds_target, error;
};

WeightedMoments from_sums(const ShiftedSums& s, double first_preds,
                          double first_target) {
  const double mean_preds = s.preds / nonzero(s.weight);
  const double mean_target = s.target / nonzero(s.weight);
  return {{first_preds + mean_preds, first_target + mean_target,
           s.preds_preds - mean_preds * s.preds,
           s.target_target - mean_target * s.target,
           s.preds_target - mean_preds * s.target, s.error},
          s.weight};
}

constexpr int kLanes = 4;

double total(const double* lanes) {
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

template <class T>
WeightedMoments block_moments(const T* preds, const T* target,
                              std::int64_t count) {
  const auto first_preds = static_cast<double>(*preds);
  const auto first_target = static_cast<double>(*target);
  double p[kLanes] = {}, t[kLanes] = {}, e[kLanes] = {};
  double pp[kLanes] = {}, tt[kLanes] = {}, pt[kLanes] = {};
  const auto add = [&](std::int64_t i, int lane) {
    const double dp = static_cast<double>(preds[i]) - first_preds;
    const double dt = static_cast<double>(target[i]) - first_target;
    const double error =
        static_cast<double>(preds[i]) - static_cast<double>(target[i]);
    p[lane] += dp;
    t[lane] += dt;
    pp[lane] += dp * dp;
    tt[lane] += dt * dt;
    pt[lane] += dp * dt;
    e[lane] += error * error;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  for (; i < count; ++i) add(i, 0);
  return from_sums({static_cast<double>(count), total(p), total(t), total(pp),
                    total(tt), total(pt), total(e)},
                   first_preds, first_target);
}

template <class T>
WeightedMoments block_moments(const T* preds, const T* target,
                              const double* weight, std::int64_t count) {
  const auto first_preds = static_cast<double>(*preds);
  const auto first_target = static_cast<double>(*target);
  ShiftedSums s{};
  for (std::int64_t i = 0; i < count; ++i) {
    const double dp = static_cast<double>(preds[i]) - first_preds;
    const double dt = static_cast<double>(target[i]) - first_target;
    const double error =
        static_cast<double>(preds[i]) - static_cast<double>(target[i]);
    s.weight += weight[i];
    s.preds += weight[i] * dp;
    s.target += weight[i] * dt;
    s.preds_preds += weight[i] * dp * dp;
    s.target_target += weight[i] * dt * dt;
    s.preds_target += weight[i] * dp * dt;
    s.error += weight[i] * error * error;
  }
  return from_sums(s, first_preds, first_target);
}

// `of_block(begin, size)` of all blocks, merged in order.
template <class OfBlock>
WeightedMoments merge_blocks(std::int64_t begin, std::int64_t end,
                             const OfBlock& of_block) {
  WeightedMoments result;
  for (; begin < end; begin += kBlock) {
    merge_into(result, of_block(begin, std::min(end - begin, kBlock)));
  }
  return result;
}

template <class OfBlock>
WeightedMoments merge_chunks(std::int64_t count, const OfBlock& of_block) {
  const std::int64_t chunks = (count + kChunk - 1) / kChunk;
  std::vector<WeightedMoments> parts(chunks);
  at::parallel_for(0, chunks, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      parts[i] =
          merge_blocks(i * kChunk, std::min(count, (i + 1) * kChunk), of_block);
    }
  });
  WeightedMoments result;
  for (const WeightedMoments& part : parts) merge_into(result, part);
  return result;
}

WeightedMoments plain_moments(const Samples& samples, const double* weight) {
  const std::int64_t count = samples.preds.numel();
  return internal::visit_values(
      samples.preds, samples.target, [=](const auto* p, const auto* t) {
        const auto of_block = [=](std::int64_t begin, std::int64_t size) {
          return weight == nullptr ? block_moments(p + begin, t + begin, size)
                                   : block_moments(p + begin, t + begin,
                                                   weight + begin, size);
        };
        return count <= kChunk ? merge_blocks(0, count, of_block)
                               : merge_chunks(count, of_block);
      });
}

// Column `output` of [6, outputs].
Moments<double> column(const double* rows, std::int64_t outputs,
                       std::int64_t output) {
  const double* m = rows + output;
  return {m[0],           m[outputs],     m[2 * outputs],
          m[3 * outputs], m[4 * outputs], m[5 * outputs]};
}

void set_column(double* rows, std::int64_t outputs, std::int64_t output,
                const Moments<double>& value) {
  double* m = rows + output;
  m[0] = value.mean_preds;
  m[outputs] = value.mean_target;
  m[2 * outputs] = value.squares_preds;
  m[3 * outputs] = value.squares_target;
  m[4 * outputs] = value.products;
  m[5 * outputs] = value.squared_error;
}

// Sums of all columns, row by row: [6, outputs] and the sum of the weights.
template <class T>
double output_sums(const T* preds, const T* target, const double* weight,
                   std::int64_t rows, std::int64_t outputs, double* sums) {
  std::fill_n(sums, kMomentRows * outputs, 0.0);
  double all_weights = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double w = weight == nullptr ? 1 : weight[row];
    const T* const p = preds + row * outputs;
    const T* const t = target + row * outputs;
    for (std::int64_t i = 0; i < outputs; ++i) {
      const auto wide_p = static_cast<double>(p[i]);
      const auto wide_t = static_cast<double>(t[i]);
      const double dp = wide_p - static_cast<double>(preds[i]);
      const double dt = wide_t - static_cast<double>(target[i]);
      sums[i] += w * dp;
      sums[outputs + i] += w * dt;
      sums[2 * outputs + i] += w * dp * dp;
      sums[3 * outputs + i] += w * dt * dt;
      sums[4 * outputs + i] += w * dp * dt;
      sums[5 * outputs + i] += w * (wide_p - wide_t) * (wide_p - wide_t);
    }
    all_weights += w;
  }
  return all_weights;
}

// Merges into moments [6, outputs]; returns the sum of the weights.
double plain_output_moments(const Samples& samples, const double* weight,
                            double* moments) {
  const std::int64_t count = samples.preds.size(0);
  const std::int64_t outputs = samples.preds.size(1);
  std::vector<double> sums(kMomentRows * outputs);
  return internal::visit_values(
      samples.preds, samples.target, [&](const auto* p, const auto* t) {
        double all_weights = 0;
        for (std::int64_t begin = 0; begin < count; begin += kBlock) {
          const auto* const block_p = p + begin * outputs;
          const auto* const block_t = t + begin * outputs;
          const double block_weight = output_sums(
              block_p, block_t, weight == nullptr ? weight : weight + begin,
              std::min(count - begin, kBlock), outputs, sums.data());
          for (std::int64_t i = 0; i < outputs; ++i) {
            const double* s = sums.data() + i;
            WeightedMoments merged{column(moments, outputs, i), all_weights};
            merge_into(merged, from_sums({block_weight, s[0], s[outputs],
                                          s[2 * outputs], s[3 * outputs],
                                          s[4 * outputs], s[5 * outputs]},
                                         static_cast<double>(block_p[i]),
                                         static_cast<double>(block_t[i])));
            set_column(moments, outputs, i, merged.moments);
          }
          all_weights += block_weight;
        }
        return all_weights;
      });
}

// Of [N] or [N, outputs], along dimension 0; weight is [N], [N, 1] or not
// defined.
Moments<at::Tensor> tensor_moments(const at::Tensor& preds,
                                   const at::Tensor& target,
                                   const at::Tensor& weight,
                                   const at::Tensor& weight_sum) {
  const auto mean = [&](const at::Tensor& values) {
    return weight.defined() ? values.mul(weight).sum(0).div(weight_sum)
                            : values.mean(0);
  };
  const auto sum = [&](const at::Tensor& values) {
    return (weight.defined() ? values.mul(weight) : values).sum(0);
  };
  const auto about_first = [](const at::Tensor& input) {
    const at::Tensor wide = input.to(at::kDouble);
    const at::Tensor first = wide.select(0, 0).detach();
    return std::make_pair(first, wide.sub(first));
  };
  const auto [first_preds, from_first_preds] = about_first(preds);
  const auto [first_target, from_first_target] = about_first(target);
  const at::Tensor mean_preds = mean(from_first_preds);
  const at::Tensor mean_target = mean(from_first_target);
  const at::Tensor p = from_first_preds.sub(mean_preds);
  const at::Tensor t = from_first_target.sub(mean_target);
  const at::Tensor errors = preds.to(at::kDouble).sub(target.to(at::kDouble));
  return {first_preds.add(mean_preds),
          first_target.add(mean_target),
          sum(p.square()),
          sum(t.square()),
          sum(p.mul(t)),
          sum(errors.square())};
}

Moments<Number> numbers(const State& state) {
  return {state.mean_preds,     state.mean_target, state.squares_preds,
          state.squares_target, state.products,    state.squared_error};
}

template <class T>
void set_numbers(State& state, const Moments<T>& moments) {
  state.mean_preds = Number(moments.mean_preds);
  state.mean_target = Number(moments.mean_target);
  state.squares_preds = Number(moments.squares_preds);
  state.squares_target = Number(moments.squares_target);
  state.products = Number(moments.products);
  state.squared_error = Number(moments.squared_error);
}

at::Tensor merge_outputs(const at::Tensor& a, const Number& weight_a,
                         const at::Tensor& b, const Number& weight_b) {
  if (internal::is_plain(a) && internal::is_plain(b) && weight_a.is_plain() &&
      weight_b.is_plain()) {
    const std::int64_t outputs = a.size(1);
    at::Tensor result = internal::zero_numbers({kMomentRows, outputs});
    double* to = result.mutable_data_ptr<double>();
    const double* from_a = a.const_data_ptr<double>();
    const double* from_b = b.const_data_ptr<double>();
    for (std::int64_t i = 0; i < outputs; ++i) {
      set_column(to, outputs, i,
                 merge_moments(column(from_a, outputs, i), weight_a.value(),
                               column(from_b, outputs, i), weight_b.value()));
    }
    return result;
  }
  const Number share = weight_b / nonzero(weight_a + weight_b);
  const at::Tensor share_tensor = share.tensor().to(a.device());
  const at::Tensor factor = (weight_a * share).tensor().to(a.device());
  const at::Tensor means = a.narrow(0, 0, 2);
  const at::Tensor delta = b.narrow(0, 0, 2).sub(means);
  const at::Tensor preds = delta.select(0, 0);
  const at::Tensor target = delta.select(0, 1);
  const at::Tensor between =
      at::stack({preds.square(), target.square(), preds.mul(target)});
  return at::cat(
      {means.add(delta.mul(share_tensor)),
       a.narrow(0, 2, 3).add(b.narrow(0, 2, 3)).add(between.mul(factor)),
       a.narrow(0, 5, 1).add(b.narrow(0, 5, 1))});
}

at::Tensor range_of(const at::Tensor& target, std::int64_t outputs) {
  const at::Tensor wide =
      target.detach().to(at::kDouble).reshape({-1, outputs});
  return at::stack({wide.amin(0), wide.amax(0)});
}

at::Tensor merge_ranges(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  return at::stack({at::minimum(a.select(0, 0), b.select(0, 0)),
                    at::maximum(a.select(0, 1), b.select(0, 1))});
}

State observe_plain(const Samples& samples, std::int64_t outputs) {
  State state;
  state.total = samples.preds.numel() / outputs;
  if (state.total == 0) return state;
  at::Tensor wide_weight;
  const double* weight = nullptr;
  if (samples.weight.defined()) {
    wide_weight = samples.weight.to(at::kDouble);
    weight = wide_weight.const_data_ptr<double>();
  }
  if (outputs == 1) {
    const WeightedMoments result = plain_moments(samples, weight);
    set_numbers(state, result.moments);
    state.weight = result.weight;
  } else {
    state.outputs = internal::zero_numbers({kMomentRows, outputs});
    state.weight = plain_output_moments(
        samples, weight, state.outputs.mutable_data_ptr<double>());
  }
  return state;
}

State observe_tensors(const Samples& samples, std::int64_t outputs) {
  State state;
  state.total = samples.preds.numel() / outputs;
  if (state.total == 0) return state;
  at::Tensor weight, weight_sum;
  state.weight = state.total;
  if (samples.weight.defined()) {
    weight = samples.weight.detach().to(at::kDouble).reshape(-1);
    state.weight = Number(weight.sum());
    weight_sum = nonzero(state.weight).tensor();
    if (outputs > 1) weight = weight.unsqueeze(1);
  }
  if (outputs == 1) {
    set_numbers(state,
                tensor_moments(samples.preds.reshape(-1),
                               samples.target.reshape(-1), weight, weight_sum));
  } else {
    const Moments<at::Tensor> m =
        tensor_moments(samples.preds, samples.target, weight, weight_sum);
    state.outputs = at::stack({m.mean_preds, m.mean_target, m.squares_preds,
                               m.squares_target, m.products, m.squared_error});
  }
  return state;
}

}  // namespace

bool State::has_nan() const {
  return std::isnan((squared_error + weight).value()) ||
         (outputs.defined() && internal::has_nan(outputs));
}

State State::merge(const State& a, const State& b) {
  if (a.total == 0) return b;
  if (b.total == 0) return a;
  TORCH_CHECK_VALUE(
      a.outputs.defined() == b.outputs.defined() &&
          (!a.outputs.defined() || a.outputs.sizes() == b.outputs.sizes()),
      "expected moments of the same number of outputs");
  State merged;
  merged.total = a.total + b.total;
  merged.weight = a.weight + b.weight;
  if (a.outputs.defined()) {
    merged.outputs = merge_outputs(a.outputs, a.weight, b.outputs, b.weight);
  } else {
    set_numbers(merged,
                merge_moments(numbers(a), a.weight, numbers(b), b.weight));
  }
  merged.range = merge_ranges(a.range, b.range);
  return merged;
}

JointMoments::State JointMoments::observe(const at::Tensor& preds,
                                          const at::Tensor& target,
                                          const at::Tensor& weight) const {
  internal::check_columns(preds, target, num_outputs_);
  if (weight.defined()) {
    internal::check_weight(preds, weight, num_outputs_, validate_);
  }
  return internal::observe_by_policy(
      {preds, target, weight}, num_outputs_, nan_policy_,
      [this](const Samples& samples) {
        State state = samples.are_plain()
                          ? observe_plain(samples, num_outputs_)
                          : observe_tensors(samples, num_outputs_);
        if (keep_range_ && state.total > 0) {
          state.range = range_of(samples.target, num_outputs_);
        }
        return state;
      });
}

bool internal::are_plain(const State& state) {
  if (!state.weight.is_plain()) return false;
  if (state.outputs.defined()) return is_plain(state.outputs);
  return state.mean_preds.is_plain() && state.mean_target.is_plain() &&
         state.squares_preds.is_plain() && state.squares_target.is_plain() &&
         state.products.is_plain() && state.squared_error.is_plain();
}

Moments<double> internal::plain_moments_of(const State& state) {
  return {state.mean_preds.value(),    state.mean_target.value(),
          state.squares_preds.value(), state.squares_target.value(),
          state.products.value(),      state.squared_error.value()};
}

Moments<double> internal::moments_of_output(const State& state,
                                            std::int64_t output) {
  return column(state.outputs.const_data_ptr<double>(), state.outputs.size(1),
                output);
}

Moments<at::Tensor> internal::moments_of(const State& state) {
  if (!state.outputs.defined()) {
    return {state.mean_preds.tensor(),    state.mean_target.tensor(),
            state.squares_preds.tensor(), state.squares_target.tensor(),
            state.products.tensor(),      state.squared_error.tensor()};
  }
  const at::Tensor& m = state.outputs;
  return {m.select(0, 0), m.select(0, 1), m.select(0, 2),
          m.select(0, 3), m.select(0, 4), m.select(0, 5)};
}

at::Tensor internal::empty_outputs(std::int64_t num_outputs) {
  return at::detail::empty_cpu({num_outputs}, at::kDouble);
}

}  // namespace tally
