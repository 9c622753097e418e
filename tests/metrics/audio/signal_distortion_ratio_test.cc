#include "tally/metrics/audio/signal_distortion_ratio.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tally/metrics/audio/kernels/lagged_correlations.h"
#include "tally/tests/metrics/audio/signals.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using internal::audio::DistortionRule;
using ::tally::testkit::made;
using ::tally::testkit::refusal_of;
using ::tally::testkit::SignalPair;
using ::tally::testkit::value_of;
using ::testing::HasSubstr;

using Sdr = SignalDistortionRatio;
using Options = SignalDistortionRatioOptions;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Also: the mean has the same bits for any split.
TEST(SignalDistortionRatioTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  options.split_rtol = 0;
  options.skip_gradients = {"default"};
  testkit::check_metric<Sdr>("audio/SignalDistortionRatio", options);
}

// By fast_bss_eval and mir_eval, which agree: peers/audio.py --long.
TEST(SignalDistortionRatioTest, OfTwoSeconds) {
  const auto [preds, target] = made(32000);
  EXPECT_NEAR(value_of<Sdr>(preds, target), 10.3000391885, 1e-9);
  EXPECT_NEAR(value_of<Sdr>(preds, target, Options().load_diag(1e-4)),
              10.2947957063, 1e-9);
  EXPECT_NEAR(value_of<Sdr>(preds, target, Options().zero_mean(true)),
              10.3000315688, 1e-9);
  EXPECT_NEAR(value_of<Sdr>(target.roll(600), target), -15.4472701628, 1e-9);
  EXPECT_NEAR(value_of<Sdr>(target.roll(-10), target), -14.954910192, 1e-9);
}

TEST(SignalDistortionRatioTest, AFilterIsNoDistortion) {
  const at::Tensor target = made(8000).target;
  EXPECT_GT(value_of<Sdr>(target, target), 130);
  const at::Tensor delayed =
      at::cat({at::zeros({100}, at::kDouble), target.narrow(0, 0, 7900)});
  EXPECT_GT(
      value_of<Sdr>(at::cat({delayed, at::zeros({100}, at::kDouble)}).mul(3),
                    at::cat({target, at::zeros({100}, at::kDouble)})),
      20);
}

// "Choose clip and -inf, never throw."
TEST(SignalDistortionRatioTest, SilenceIsMinusInfinity) {
  const at::Tensor signal = made(4000).target;
  const at::Tensor silence = at::zeros({4000}, at::kDouble);
  for (const std::optional<double> load :
       {std::optional<double>(), std::optional<double>(1e-4)}) {
    Sdr metric(Options().load_diag(load).count_silent(true));
    for (const auto& [preds, target] :
         {SignalPair{signal, silence}, SignalPair{silence, signal},
          SignalPair{silence, silence}}) {
      EXPECT_EQ(metric.forward(preds, target).value.item<double>(), -kInfinity);
    }
    EXPECT_EQ(metric.compute().silent.item<std::int64_t>(), 2);
    EXPECT_EQ(metric.compute().value.item<double>(), -kInfinity);
  }
}

// "clamp_db C: coh in [q,1-q], q=c/(1+c), c=10^(-C/10)."
TEST(SignalDistortionRatioTest, ClampedScoresAreFinite) {
  const at::Tensor signal = made(4000).target;
  const at::Tensor silence = at::zeros({4000}, at::kDouble);
  const auto clamped = Options().clamp_db(30.0);
  EXPECT_EQ(value_of<Sdr>(signal, silence, clamped), -30);
  EXPECT_EQ(value_of<Sdr>(silence, signal, clamped), -30);
  EXPECT_EQ(value_of<Sdr>(signal, signal, clamped), 30);
  EXPECT_EQ(value_of<Sdr>(signal.roll(600), signal, Options().clamp_db(5.0)),
            -5);
}

TEST(SignalDistortionRatioTest, ReferencesOfFewFrequenciesAreDefined) {
  for (const double value : {1.0, 1e-30, 1e30}) {
    const at::Tensor constant = at::full({2000}, value, at::kDouble);
    const at::Tensor preds = at::randn({2000}, at::kDouble);
    EXPECT_TRUE(std::isfinite(value_of<Sdr>(preds, constant))) << value;
    EXPECT_FALSE(std::isnan(value_of<Sdr>(constant, constant))) << value;
  }
  // Shorter than the filter, and a single value.
  EXPECT_FALSE(std::isnan(value_of<Sdr>(at::randn({50}), at::randn({50}))));
  EXPECT_GT(value_of<Sdr>(at::ones({1}), at::ones({1})), 140);
}

TEST(SignalDistortionRatioTest, InfiniteSignalsAreNaN) {
  const at::Tensor signal = made(600).target;
  at::Tensor infinite = signal.clone();
  infinite[300] = kInfinity;
  for (const auto& options : {Options(), Options().clamp_db(30.0)}) {
    EXPECT_TRUE(std::isnan(value_of<Sdr>(signal, infinite, options)));
    EXPECT_TRUE(std::isnan(value_of<Sdr>(infinite, signal, options)));
  }
}

TEST(SignalDistortionRatioTest, MatchesTheDefinition) {
  const at::Tensor preds = at::randn({3, 100}, at::kDouble);
  const at::Tensor target = at::randn({3, 100}, at::kDouble);
  for (const bool zero_mean : {false, true}) {
    const DistortionRule rule{20, {zero_mean, 1e-3}, std::nullopt};
    const double expected =
        internal::audio::distortion_by_solving(preds, target, rule)
            .mean()
            .item<double>();
    EXPECT_NEAR(
        value_of<Sdr>(
            preds, target,
            Options().filter_length(20).zero_mean(zero_mean).load_diag(1e-3)),
        expected, 1e-10);
  }
}

at::Tensor with_graph(const at::Tensor& tensor) {
  return tensor.detach().clone().set_requires_grad(true);
}

// "No second solve": the own gradient is that of the definition.
TEST(SignalDistortionRatioTest, GradientsAreThoseOfTheDefinition) {
  const at::Tensor preds = at::randn({2, 60}, at::kDouble).add(0.3);
  const at::Tensor target = at::randn({2, 60}, at::kDouble).add(0.2);
  for (const bool zero_mean : {false, true}) {
    for (const double load : {0.0, 0.1}) {
      const DistortionRule rule{12, {zero_mean, load}, std::nullopt};
      const at::Tensor p = with_graph(preds), t = with_graph(target);
      internal::audio::distortion_by_solving(p, t, rule).mean().backward();
      const at::Tensor own_p = with_graph(preds), own_t = with_graph(target);
      Sdr metric(
          Options().filter_length(12).zero_mean(zero_mean).load_diag(load));
      metric.forward(own_p, own_t).value.backward();
      EXPECT_TRUE(own_p.grad().allclose(p.grad(), 1e-9, 1e-12));
      EXPECT_TRUE(own_t.grad().allclose(t.grad(), 1e-9, 1e-12));
    }
  }
}

TEST(SignalDistortionRatioTest, ClippedScoresHaveNoGradient) {
  const at::Tensor silence = with_graph(at::zeros({1, 60}, at::kDouble));
  const at::Tensor target = with_graph(at::randn({1, 60}, at::kDouble));
  Sdr metric(Options().filter_length(4));
  metric.forward(silence, target).value.backward();
  EXPECT_EQ(silence.grad().abs().sum().item<double>(), 0);
  EXPECT_EQ(target.grad().abs().sum().item<double>(), 0);
  const at::Tensor preds = with_graph(at::randn({1, 60}, at::kDouble));
  Sdr clamped(Options().filter_length(4).clamp_db(1e-3));
  clamped.forward(preds, target).value.backward();
  EXPECT_EQ(preds.grad().abs().sum().item<double>(), 0);
}

TEST(SignalDistortionRatioTest, GradientsOfGradientsAreThoseOfTheDefinition) {
  const at::Tensor preds = at::randn({2, 30}, at::kDouble);
  const at::Tensor target = at::randn({2, 30}, at::kDouble);
  const at::Tensor direction = at::randn({2, 30}, at::kDouble);
  const auto second = [&](auto&& loss_of) {
    const at::Tensor p = with_graph(preds), t = with_graph(target);
    const at::Tensor gradient =
        torch::autograd::grad({loss_of(p, t)}, {p}, {}, std::nullopt,
                              /*create_graph=*/true)[0];
    const auto found =
        torch::autograd::grad({gradient.mul(direction).sum()}, {p, t});
    return at::stack({found[0], found[1]});
  };
  const DistortionRule rule{6, {false, 0}, std::nullopt};
  const at::Tensor expected = second([&](const auto& p, const auto& t) {
    return internal::audio::distortion_by_solving(p, t, rule).mean();
  });
  Sdr metric(Options().filter_length(6));
  const at::Tensor own = second(
      [&](const auto& p, const auto& t) { return metric.forward(p, t).value; });
  EXPECT_TRUE(own.allclose(expected, 1e-8, 1e-10)) << own << expected;
}

TEST(SignalDistortionRatioTest, BadOptionsAreRefused) {
  EXPECT_THAT(refusal_of([] { Sdr metric(Options().filter_length(0)); }),
              HasSubstr("SignalDistortionRatio: expected filter_length from 1 "
                        "to 1048576, got 0"));
  EXPECT_THAT(refusal_of([] { Sdr metric(Options().load_diag(-1.0)); }),
              HasSubstr("expected a finite load_diag of at least 0, got -1"));
  EXPECT_THAT(refusal_of([] { Sdr metric(Options().clamp_db(0.0)); }),
              HasSubstr("expected a finite clamp_db above 0, got 0"));
}

TEST(CorrelationsTest, BlocksAreJoined) {
  for (const std::int64_t count : {1, 20, 32, 33, 100}) {
    const internal::audio::Correlator correlator(count);
    for (const std::int64_t time : {1, 3, 32, 33, 128, 300}) {
      const std::vector<double> t = testkit::noise(time, 5);
      const std::vector<double> p = testkit::noise(time, 6);
      const auto found = correlator.correlate(t, p);
      for (std::int64_t k = 0; k < count; ++k) {
        double own = 0, both = 0;
        for (std::int64_t n = 0; n + k < time; ++n) {
          own += t[n] * t[n + k];
          both += t[n] * p[n + k];
        }
        EXPECT_NEAR(found.target[k], own, 1e-13) << count << " " << time;
        EXPECT_NEAR(found.both[k], both, 1e-13) << count << " " << time;
      }
    }
  }
}

TEST(ToeplitzTest, SolvesWhatIsNotSingular) {
  const double r[] = {4, 2, 1, 0.5}, b[] = {1, -2, 3, 0};
  double x[4];
  internal::audio::solve_toeplitz(r, b, 4, x);
  for (int i = 0; i < 4; ++i) {
    double sum = 0;
    for (int j = 0; j < 4; ++j) sum += r[std::abs(i - j)] * x[j];
    EXPECT_NEAR(sum, b[i], 1e-14);
  }
  const double ones[] = {1, 1, 1};
  internal::audio::solve_toeplitz(ones, ones, 3, x);
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(x[1], 0);
  const double zeros[] = {0, 0, 0};
  internal::audio::solve_toeplitz(zeros, ones, 3, x);
  EXPECT_EQ(x[0], 0);
}

}  // namespace
}  // namespace tally
