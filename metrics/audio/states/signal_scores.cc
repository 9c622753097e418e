#include "tally/metrics/audio/states/signal_scores.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/audio/states/signal_measure.h"
#include "tally/metrics/common/any_nan.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/exact_sums.h"
#include "tally/metrics/common/fused.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::audio {
namespace {

// So many values are worth another thread.
constexpr std::int64_t kGrain = 32768;
// What ExactSums takes.
constexpr double kTooLarge = 0x1p31;

// Calls visit(n, sample) for each sample, on several threads.
template <class Visit>
void visit_samples(const Signals& signals, const Visit& visit) {
  const std::int64_t size = signals.channels() * signals.time();
  const auto visit_all = [&](const auto* preds, const auto* target) {
    at::parallel_for(0, signals.samples(), 1 + kGrain / size,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t n = begin; n < end; ++n) {
                         visit(n, SamplePair<std::decay_t<decltype(*preds)>>{
                                      preds + n * size, target + n * size,
                                      signals.channels(), signals.time()});
                       }
                     });
  };
  if (signals.preds.scalar_type() == at::kFloat) {
    visit_all(signals.preds.const_data_ptr<float>(),
              signals.target.const_data_ptr<float>());
  } else {
    visit_all(signals.preds.const_data_ptr<double>(),
              signals.target.const_data_ptr<double>());
  }
}

// Of which samples this holds.
template <class Holds>
std::vector<std::int64_t> places_where(const Signals& plain,
                                       const Holds& holds) {
  std::vector<char> found(static_cast<std::size_t>(plain.samples()));
  visit_samples(plain, [&](std::int64_t n, const auto& sample) {
    found[n] = holds(sample);
  });
  std::vector<std::int64_t> places;
  for (std::int64_t n = 0; n < plain.samples(); ++n) {
    if (found[n]) places.push_back(n);
  }
  return places;
}

template <class T>
bool has_nan(const SamplePair<T>& sample) {
  const std::int64_t count = sample.channels * sample.time;
  return any_nan(sample.preds, count) || any_nan(sample.target, count);
}

// Signals without the samples at `places`.
Signals without(const Signals& signals,
                const std::vector<std::int64_t>& places) {
  const at::Tensor kept = at::ones({signals.samples()}, at::kBool);
  for (const std::int64_t place : places) kept[place].fill_(false);
  return signals.select(kept.nonzero().squeeze(1));
}

// 0, with the gradient of the tensor's sum.
Number gradient_of_sum(const at::Tensor& tensor) {
  const at::Tensor sum = tensor.sum().clone();
  {
    const at::NoGradGuard no_grad;
    sum.detach().zero_();
  }
  return Number(sum);
}

}  // namespace

void SignalMeasure::check(const Signals& signals) const {
  const bool is_complex = layout() == Layout::kComplex;
  const bool fits = is_complex
                        ? signals.sizes.size() == 3 && signals.sizes.back() == 2
                        : signals.sizes.size() == 1;
  TORCH_CHECK_VALUE(fits, "expected signals of shape ",
                    is_complex ? "[F, T, 2], or complex [F, T]" : "[T]",
                    " of each speaker, got ", at::IntArrayRef(signals.sizes));
}

at::Tensor SignalMeasure::record(const Signals& signals, double* scores) const {
  score(signals.plain(), scores);
  return differentiable(signals);
}

std::int64_t SignalMeasure::count_silent(const Signals& plain) const {
  return audio::count_silent(plain, /*zero_mean=*/false);
}

void EnergyRatio::score(const Signals& plain, double* scores) const {
  visit_samples(plain, [&](std::int64_t n, const auto& sample) {
    scores[n] = energy_ratio(sample, rule_, plain.epsilon);
  });
}

// The ratio of each sample, [N], as one node of the graph.
class EnergyRatio::Fused final : public internal::Fused {
 public:
  Fused(const EnergyRatio& ratio, const Signals& signals, at::Tensor scores)
      : ratio_(ratio),
        epsilon_(signals.epsilon),
        sizes_(signals.sizes),
        scores_(std::move(scores)) {}

  // Not scores_ itself: the value holds its node, and that this object.
  at::Tensor value(at::TensorList) const override { return scores_.detach(); }

  std::vector<at::Tensor> gradients(at::TensorList inputs,
                                    const at::Tensor& gradient,
                                    c10::ArrayRef<bool> wanted) const override {
    std::vector<at::Tensor> slopes = fresh_gradients(inputs, wanted);
    const auto* const factors = gradient.const_data_ptr<double>();
    visit_samples(with(inputs), [&](std::int64_t n, const auto& sample) {
      using T = std::decay_t<decltype(*sample.preds)>;
      const auto to = [&](const at::Tensor& all) -> T* {
        if (!all.defined()) return nullptr;
        return all.mutable_data_ptr<T>() + n * sample.channels * sample.time;
      };
      energy_slopes(sample, ratio_.rule_, epsilon_, factors[n], to(slopes[0]),
                    to(slopes[1]));
    });
    return slopes;
  }

  at::Tensor formula(at::TensorList inputs) const override {
    return ratio_.formula(with(inputs));
  }

 private:
  Signals with(at::TensorList inputs) const {
    return {inputs[0], inputs[1], epsilon_, sizes_};
  }

  EnergyRatio ratio_;
  double epsilon_;
  std::vector<std::int64_t> sizes_;
  at::Tensor scores_;
};

at::Tensor EnergyRatio::record(const Signals& signals, double* scores) const {
  score(signals.plain(), scores);
  const at::Tensor inputs[] = {signals.preds.contiguous(),
                               signals.target.contiguous()};
  if (!are_fusible(inputs)) return formula(signals);
  at::Tensor kept = fresh_tensor({signals.samples()}, at::kDouble);
  std::copy_n(scores, signals.samples(), kept.mutable_data_ptr<double>());
  return fused(c10::make_intrusive<Fused>(*this, signals, std::move(kept)),
               inputs);
}

at::Tensor EnergyRatio::differentiable(const Signals& signals) const {
  std::vector<double> scores(static_cast<std::size_t>(signals.samples()));
  return record(signals, scores.data());
}

at::Tensor EnergyRatio::formula(const Signals& signals) const {
  const Signals wide = signals.wide();
  const auto flat = [&](const at::Tensor& tensor) {
    return (rule_.zero_mean ? centered(tensor) : tensor).flatten(1);
  };
  const double epsilon = signals.epsilon;
  const at::Tensor preds = flat(wide.preds);
  at::Tensor target = flat(wide.target);
  if (rule_.scale_invariant) {
    const at::Tensor products =
        preds.mul(target).sum({1}, /*keepdim=*/true).add(epsilon);
    const at::Tensor energy =
        target.square().sum({1}, /*keepdim=*/true).add(epsilon);
    target = target.mul(products.div(energy));
  }
  const auto decibels = [&](const at::Tensor& signal) {
    return signal.square().sum({1}).add(epsilon).log10().mul(10);
  };
  return decibels(target).sub(decibels(target.sub(preds)));
}

std::int64_t EnergyRatio::count_silent(const Signals& plain) const {
  return audio::count_silent(plain, rule_.zero_mean);
}

std::int64_t count_silent(const Signals& plain, bool zero_mean) {
  const auto silent = places_where(
      plain, [&](const auto& sample) { return is_silent(sample, zero_mean); });
  return static_cast<std::int64_t>(silent.size());
}

at::Tensor centered(const at::Tensor& signals) {
  const at::Tensor first = signals.detach().narrow(-1, 0, 1);
  const at::Tensor constant =
      signals.detach().eq(first).all(-1, /*keepdim=*/true);
  return signals.sub(signals.mean({-1}, /*keepdim=*/true))
      .masked_fill(constant, 0);
}

SignalScoresState observe_signals(const SignalMeasure& measure,
                                  const at::Tensor& preds,
                                  const at::Tensor& target, NanPolicy policy) {
  Signals signals = arrange(preds, target, measure.layout());
  measure.check(signals);
  Signals plain = signals.plain();
  std::vector<std::int64_t> nan =
      places_where(plain, [](const auto& sample) { return has_nan(sample); });
  TORCH_CHECK_VALUE(nan.empty() || policy != NanPolicy::kError,
                    "expected signals without NaN, got some in sample ",
                    nan[0]);
  if (!nan.empty() && policy == NanPolicy::kIgnore) {
    signals = without(signals, nan);
    plain = signals.plain();
    nan.clear();
  }
  SignalScoresState state;
  state.total = signals.samples();
  std::vector<double> scores(static_cast<std::size_t>(state.total));
  if (state.total == 0) return state;
  if (signals.requires_grad()) {
    state.gradient = gradient_of_sum(measure.record(signals, scores.data()));
  } else {
    measure.score(plain, scores.data());
  }
  for (const std::int64_t place : nan) scores[place] = kNaN;
  ExactSums sum(1);
  for (const double score : scores) {
    TORCH_CHECK_VALUE(!std::isfinite(score) || std::abs(score) < kTooLarge,
                      "expected scores of less than 2^31, got ", score);
    sum.add(0, score);
  }
  state.scores = sum.tensor().to(preds.device());
  state.silent = measure.count_silent(plain);
  return state;
}

SignalScore mean_score(const SignalScoresState& state, bool count_silent) {
  const Number sum = Number(ExactSums::value(state.scores)) + state.gradient;
  SignalScore score;
  score.value = sum / Number(state.total);
  if (count_silent) score.silent = scalar_tensor(state.silent);
  return score;
}

}  // namespace tally::internal::audio
