#include "tally/metrics/audio/states/distortion.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/fft_irfft.h>
#include <ATen/ops/fft_rfft.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tally::internal::audio {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

const double kDecibels = 10 / std::log(10);

// Of coherences: those at an end, or beyond it, have no gradient.
struct Range {
  double low = 0, high = 1;
};

Range range_of(const DistortionRule& rule) {
  if (!rule.clamp_db) return {};
  const double ratio = std::pow(10, -*rule.clamp_db / 10);
  return {ratio / (1 + ratio), 1 / (1 + ratio)};
}

double decibels(double coherence, const DistortionRule& rule) {
  const Range range = range_of(rule);
  const bool is_low = coherence <= range.low, is_high = coherence >= range.high;
  if (rule.clamp_db && (is_low || is_high)) {
    return is_low ? -*rule.clamp_db : *rule.clamp_db;
  }
  const double clipped = is_low ? 0 : is_high ? 1 : coherence;
  return 10 * std::log10(clipped / (1 - clipped));
}

double slope_at(double coherence, const DistortionRule& rule) {
  const Range range = range_of(rule);
  if (coherence <= range.low || coherence >= range.high) return 0;
  return kDecibels / (coherence * (1 - coherence));
}

// Of all samples: their coherences, and the filters [N, L] if they are wanted.
std::vector<double> coherences(const Signals& plain,
                               const Correlator& correlator,
                               const CoherenceRule& rule, double* filters) {
  std::vector<double> result(static_cast<std::size_t>(plain.samples()));
  const std::int64_t time = plain.time(), length = correlator.count();
  const auto run = [&](const auto* preds, const auto* target) {
    at::parallel_for(
        0, plain.samples(), 1, [&](std::int64_t begin, std::int64_t end) {
          std::vector<double> own(static_cast<std::size_t>(length));
          for (std::int64_t n = begin; n < end; ++n) {
            double* const filter =
                filters != nullptr ? filters + n * length : own.data();
            result[n] = coherence(preds + n * time, target + n * time, time,
                                  correlator, rule, filter);
          }
        });
  };
  if (plain.preds.scalar_type() == at::kFloat) {
    run(plain.preds.const_data_ptr<float>(),
        plain.target.const_data_ptr<float>());
  } else {
    run(plain.preds.const_data_ptr<double>(),
        plain.target.const_data_ptr<double>());
  }
  return result;
}

// Signals divided by their norms.
struct Unit {
  at::Tensor values;   // [N, T]
  at::Tensor squares;  // of the norms, [N, 1]

  Unit(const at::Tensor& signals, bool zero_mean) {
    const at::Tensor all = zero_mean ? centered(signals) : signals;
    squares = all.square().sum({1}, /*keepdim=*/true);
    values = all.div(norms());
  }
  at::Tensor norms() const {
    return squares.clamp_min(kLeastNorm * kLeastNorm).sqrt();
  }
  // The gradient of the signals for that of the values.
  at::Tensor backward(const at::Tensor& gradient, bool zero_mean) const {
    const at::Tensor along = values.mul(gradient).sum({1}, /*keepdim=*/true);
    const at::Tensor moving = squares.gt(kLeastNorm * kLeastNorm);
    const at::Tensor result =
        gradient.sub(values.mul(along.mul(moving))).div(norms());
    return zero_mean ? result.sub(result.mean({1}, /*keepdim=*/true)) : result;
  }
};

std::int64_t transform_size(std::int64_t time, std::int64_t length) {
  std::int64_t size = 1;
  while (size < time + length - 1) size *= 2;
  return size;
}

// With h the best filter, its part y = h * t of the estimate, and the rest e:
//     dc/dp = 2 y, dc/dt = 2 (e correlated with h)
// h being a maximum, its own change does not matter.
struct Score : Function<Score> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& preds,
                            const at::Tensor& target, std::int64_t length,
                            bool zero_mean, double load,
                            std::optional<double> clamp_db) {
    const DistortionRule rule{length, {zero_mean, load}, clamp_db};
    const Signals plain =
        Signals{preds.unsqueeze(1), target.unsqueeze(1)}.plain();
    const std::int64_t samples = plain.samples();
    const at::Tensor filters = at::zeros({samples, length}, at::kDouble);
    at::Tensor scores = at::zeros({samples}, at::kDouble);
    at::Tensor slopes = at::zeros({samples}, at::kDouble);
    const std::vector<double> found =
        coherences(plain, Correlator(length), rule.coherence,
                   filters.mutable_data_ptr<double>());
    for (std::int64_t n = 0; n < samples; ++n) {
      scores.mutable_data_ptr<double>()[n] = decibels(found[n], rule);
      slopes.mutable_data_ptr<double>()[n] = slope_at(found[n], rule);
    }
    context->save_for_backward({preds, target});
    context->saved_data["filters"] = filters.to(preds.device());
    context->saved_data["slopes"] = slopes.to(preds.device());
    context->saved_data["length"] = length;
    context->saved_data["zero_mean"] = zero_mean;
    context->saved_data["load"] = load;
    context->saved_data["clamp_db"] = clamp_db;
    return scores.to(preds.device());
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const variable_list signals = context->get_saved_variables();
    const DistortionRule rule{
        context->saved_data["length"].toInt(),
        {context->saved_data["zero_mean"].toBool(),
         context->saved_data["load"].toDouble()},
        context->saved_data["clamp_db"].toOptional<double>()};
    variable_list result = at::GradMode::is_enabled()
                               ? differentiable(signals, rule, gradients[0])
                               : plain(signals, rule, context, gradients[0]);
    result.resize(6);
    return result;
  }

 private:
  static variable_list plain(const variable_list& signals,
                             const DistortionRule& rule,
                             AutogradContext* context,
                             const at::Tensor& gradient) {
    const bool zero_mean = rule.coherence.zero_mean;
    const Unit preds(signals[0], zero_mean), target(signals[1], zero_mean);
    const std::int64_t time = signals[0].size(1);
    const std::int64_t size = transform_size(time, rule.filter_length);
    const at::Tensor filter =
        at::fft_rfft(context->saved_data["filters"].toTensor(), size);
    const at::Tensor explained =
        at::fft_irfft(filter.mul(at::fft_rfft(target.values, size)), size);
    at::Tensor rest = explained.neg();
    rest.narrow(1, 0, time).add_(preds.values);
    const at::Tensor by_target =
        at::fft_irfft(filter.conj().mul(at::fft_rfft(rest, size)), size);
    const at::Tensor factor =
        context->saved_data["slopes"].toTensor().mul(gradient).mul(2).unsqueeze(
            1);
    const auto of = [&](const Unit& unit, const at::Tensor& by_value) {
      return unit.backward(by_value.narrow(1, 0, time).mul(factor), zero_mean);
    };
    return {of(preds, explained), of(target, by_target)};
  }

  static variable_list differentiable(const variable_list& signals,
                                      const DistortionRule& rule,
                                      const at::Tensor& gradient) {
    variable_list wanted, result(2);
    for (const at::Tensor& signal : signals) {
      if (signal.requires_grad()) wanted.push_back(signal);
    }
    const at::Tensor scores =
        distortion_by_solving(signals[0], signals[1], rule);
    const variable_list found = torch::autograd::grad(
        {scores}, wanted, {gradient}, /*retain_graph=*/true,
        /*create_graph=*/true);
    for (std::size_t i = 0, next = 0; i < 2; ++i) {
      if (signals[i].requires_grad()) result[i] = found[next++];
    }
    return result;
  }
};

}  // namespace

void Distortion::score(const Signals& plain, double* scores) const {
  const std::vector<double> found =
      coherences(plain, *correlator_, rule_.coherence, /*filters=*/nullptr);
  std::transform(found.begin(), found.end(), scores,
                 [&](double coherence) { return decibels(coherence, rule_); });
}

at::Tensor Distortion::differentiable(const Signals& signals) const {
  const Signals wide = signals.wide();
  return Score::apply(wide.preds.squeeze(1), wide.target.squeeze(1),
                      rule_.filter_length, rule_.coherence.zero_mean,
                      rule_.coherence.load_diag, rule_.clamp_db);
}

at::Tensor Distortion::record(const Signals& signals, double* scores) const {
  const at::Tensor result = differentiable(signals);
  const at::Tensor plain = result.detach().cpu();
  std::copy_n(plain.const_data_ptr<double>(), plain.numel(), scores);
  return result;
}

std::int64_t Distortion::count_silent(const Signals& plain) const {
  return audio::count_silent(plain, rule_.coherence.zero_mean);
}

at::Tensor distortion_by_solving(const at::Tensor& preds,
                                 const at::Tensor& target,
                                 const DistortionRule& rule) {
  const std::int64_t length = rule.filter_length;
  const std::int64_t size = transform_size(preds.size(1), length);
  const auto spectrum = [&](const at::Tensor& signals) {
    return at::fft_rfft(Unit(signals, rule.coherence.zero_mean).values, size);
  };
  const auto lags = [&](const at::Tensor& products) {
    return at::fft_irfft(products, size).narrow(1, 0, length);
  };
  const at::Tensor t = spectrum(target);
  const at::Tensor both = lags(t.conj().mul(spectrum(preds)));
  at::Tensor own = lags(t.conj().mul(t));
  // A silent reference explains nothing, with any energy.
  const at::Tensor silent = own.detach().narrow(1, 0, 1).eq(0);
  own = own.add(at::arange(length, own.options())
                    .eq(0)
                    .to(at::kDouble)
                    .mul(silent.to(at::kDouble).add(rule.coherence.load_diag)));
  const at::Tensor places = at::arange(length, own.options().dtype(at::kLong));
  const at::Tensor distance =
      places.unsqueeze(0).sub(places.unsqueeze(1)).abs().reshape({-1});
  const at::Tensor filter = at::linalg_solve(
      own.index_select(1, distance).reshape({-1, length, length}),
      both.unsqueeze(2));
  const at::Tensor coherence = both.mul(filter.squeeze(2)).sum({1});
  const Range range = range_of(rule);
  const at::Tensor low = coherence.detach().le(range.low);
  const at::Tensor high = coherence.detach().ge(range.high);
  const at::Tensor inside = coherence.masked_fill(low.logical_or(high), 0.5);
  return inside.div(inside.neg().add(1))
      .log10()
      .mul(10)
      .masked_fill(low, decibels(range.low, rule))
      .masked_fill(high, decibels(range.high, rule));
}

}  // namespace tally::internal::audio
