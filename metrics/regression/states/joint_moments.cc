#include "tally/metrics/regression/states/joint_moments.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/stack.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/fused.h"
#include "tally/metrics/regression/states/plain_moments.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace regression = internal::regression;

namespace {

using regression::kMomentRows;
using regression::Moments;
using regression::Samples;
using State = JointMoments::State;

// So many gradients are worth another thread.
constexpr std::int64_t kGradientGrain = 1 << 15;

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

// The six moments of one output without weights, [6].
class FusedMoments final : public internal::Fused {
 public:
  explicit FusedMoments(const Moments<double>& moments) : moments_(moments) {}

  at::Tensor value(at::TensorList) const override {
    at::Tensor value = internal::fresh_tensor({kMomentRows}, at::kDouble);
    regression::set_moments_column(value.mutable_data_ptr<double>(),
                                   /*outputs=*/1, 0, moments_);
    return value;
  }

  std::vector<at::Tensor> gradients(at::TensorList inputs,
                                    const at::Tensor& gradient,
                                    c10::ArrayRef<bool> wanted) const override {
    std::vector<at::Tensor> slopes = fresh_gradients(inputs, wanted);
    if (inputs[0].scalar_type() == at::kFloat) {
      write<float>(inputs, gradient, slopes);
    } else {
      write<double>(inputs, gradient, slopes);
    }
    return slopes;
  }

  at::Tensor formula(at::TensorList inputs) const override {
    const Moments<at::Tensor> m =
        tensor_moments(inputs[0].reshape(-1), inputs[1].reshape(-1),
                       /*weight=*/{}, /*weight_sum=*/{});
    return at::stack({m.mean_preds, m.mean_target, m.squares_preds,
                      m.squares_target, m.products, m.squared_error});
  }

 private:
  template <class T>
  void write(at::TensorList inputs, const at::Tensor& gradient,
             const std::vector<at::Tensor>& slopes) const {
    const std::int64_t count = inputs[0].numel();
    const auto* const preds = inputs[0].const_data_ptr<T>();
    const auto* const target = inputs[1].const_data_ptr<T>();
    const Moments<double> g = regression::moments_column(
        gradient.const_data_ptr<double>(), /*outputs=*/1, 0);
    const auto size = static_cast<double>(count);
    const double mean_p = moments_.mean_preds, mean_t = moments_.mean_target;
    // d = constant + own (x - its mean) + other (y - its mean) + error (x - y)
    const auto fill = [=](const at::Tensor& to, const T* x, double mean_x,
                          const T* y, double mean_y, double of_mean,
                          double of_squares) {
      if (!to.defined()) return;
      auto* const d = to.mutable_data_ptr<T>();
      const double constant = of_mean / size, own = 2 * of_squares;
      const double other = g.products, error = 2 * g.squared_error;
      at::parallel_for(
          0, count, kGradientGrain, [=](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
              const auto a = static_cast<double>(x[i]);
              const auto b = static_cast<double>(y[i]);
              d[i] = static_cast<T>(constant + own * (a - mean_x) +
                                    other * (b - mean_y) + error * (a - b));
            }
          });
    };
    fill(slopes[0], preds, mean_p, target, mean_t, g.mean_preds,
         g.squares_preds);
    fill(slopes[1], target, mean_t, preds, mean_p, g.mean_target,
         g.squares_target);
  }

  Moments<double> moments_;
};

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
    at::Tensor result =
        internal::fresh_zeros({kMomentRows, outputs}, at::kDouble);
    double* to = result.mutable_data_ptr<double>();
    const double* from_a = a.const_data_ptr<double>();
    const double* from_b = b.const_data_ptr<double>();
    for (std::int64_t i = 0; i < outputs; ++i) {
      regression::set_moments_column(
          to, outputs, i,
          regression::merge_moments(
              regression::moments_column(from_a, outputs, i), weight_a.value(),
              regression::moments_column(from_b, outputs, i),
              weight_b.value()));
    }
    return result;
  }
  const Number share = weight_b / regression::nonzero(weight_a + weight_b);
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
  const at::Tensor wide = target.to(at::kDouble).reshape({-1, outputs});
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
    const regression::WeightedMoments result =
        regression::plain_moments(samples, weight);
    set_numbers(state, result.moments);
    state.weight = result.weight;
  } else {
    state.outputs = internal::fresh_zeros({kMomentRows, outputs}, at::kDouble);
    state.weight = regression::plain_output_moments(
        samples, weight, state.outputs.mutable_data_ptr<double>());
  }
  return state;
}

State observe_fused(const Samples& samples) {
  const at::Tensor preds = samples.preds.detach();
  const at::Tensor target = samples.target.detach();
  const regression::WeightedMoments result =
      regression::plain_moments({preds, target, samples.weight}, nullptr);
  const at::Tensor m =
      internal::fused(c10::make_intrusive<FusedMoments>(result.moments),
                      {samples.preds, samples.target});
  State state;
  state.total = preds.numel();
  state.weight = result.weight;
  set_numbers(state, Moments<at::Tensor>{m.select(0, 0), m.select(0, 1),
                                         m.select(0, 2), m.select(0, 3),
                                         m.select(0, 4), m.select(0, 5)});
  return state;
}

State observe_tensors(const Samples& samples, std::int64_t outputs) {
  State state;
  state.total = samples.preds.numel() / outputs;
  if (state.total == 0) return state;
  if (outputs == 1 && !samples.weight.defined() &&
      internal::are_fusible({samples.preds, samples.target})) {
    return observe_fused(samples);
  }
  at::Tensor weight, weight_sum;
  state.weight = state.total;
  if (samples.weight.defined()) {
    weight = samples.weight.detach().to(at::kDouble).reshape(-1);
    state.weight = Number(weight.sum());
    weight_sum = regression::nonzero(state.weight).tensor();
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

Number regression::nonzero(const Number& weight) {
  if (weight.is_plain()) return nonzero(weight.value());
  return Number(weight.tensor().masked_fill(weight.tensor().eq(0), 1));
}

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
    set_numbers(merged, regression::merge_moments(numbers(a), a.weight,
                                                  numbers(b), b.weight));
  }
  merged.range = merge_ranges(a.range, b.range);
  return merged;
}

JointMoments::State JointMoments::observe(const at::Tensor& preds,
                                          const at::Tensor& target,
                                          const at::Tensor& weight) const {
  regression::check_columns(preds, target, num_outputs_);
  if (weight.defined()) {
    regression::check_weight(preds, weight, num_outputs_, validate_);
  }
  return regression::observe_by_policy(
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

bool regression::are_plain(const State& state) {
  if (!state.weight.is_plain()) return false;
  if (state.outputs.defined()) return is_plain(state.outputs);
  return state.mean_preds.is_plain() && state.mean_target.is_plain() &&
         state.squares_preds.is_plain() && state.squares_target.is_plain() &&
         state.products.is_plain() && state.squared_error.is_plain();
}

Moments<double> regression::plain_moments_of(const State& state) {
  return {state.mean_preds.value(),    state.mean_target.value(),
          state.squares_preds.value(), state.squares_target.value(),
          state.products.value(),      state.squared_error.value()};
}

Moments<double> regression::moments_of_output(const State& state,
                                              std::int64_t output) {
  return regression::moments_column(state.outputs.const_data_ptr<double>(),
                                    state.outputs.size(1), output);
}

Moments<at::Tensor> regression::moments_of(const State& state) {
  if (!state.outputs.defined()) {
    return {state.mean_preds.tensor(),    state.mean_target.tensor(),
            state.squares_preds.tensor(), state.squares_target.tensor(),
            state.products.tensor(),      state.squared_error.tensor()};
  }
  const at::Tensor& m = state.outputs;
  return {m.select(0, 0), m.select(0, 1), m.select(0, 2),
          m.select(0, 3), m.select(0, 4), m.select(0, 5)};
}

at::Tensor regression::empty_outputs(std::int64_t num_outputs) {
  return at::detail::empty_cpu({num_outputs}, at::kDouble);
}

}  // namespace tally
