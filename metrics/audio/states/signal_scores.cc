#include "tally/metrics/audio/states/signal_scores.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tally/metrics/exact_sums.h"

namespace tally::internal::audio {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// What ExactSums takes.
constexpr double kTooLarge = 0x1p31;

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

SignalScoresState observe_signals(const SignalMeasure& measure,
                                  const at::Tensor& preds,
                                  const at::Tensor& target, NanPolicy policy) {
  Signals signals = arrange(preds, target, measure.layout());
  measure.check(signals);
  Signals plain = signals.plain();
  std::vector<std::int64_t> nan = samples_with_nan(plain);
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
