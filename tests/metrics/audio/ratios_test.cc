#include <ATen/ops/complex.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/audio/complex_scale_invariant_signal_noise_ratio.h"
#include "tally/metrics/audio/scale_invariant_signal_distortion_ratio.h"
#include "tally/metrics/audio/scale_invariant_signal_noise_ratio.h"
#include "tally/metrics/audio/signal_noise_ratio.h"
#include "tally/metrics/audio/source_aggregated_signal_distortion_ratio.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/compositional.h"
#include "tally/tests/metrics/audio/signals.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::tally::testkit::signal_of;
using ::tally::testkit::value_of;
using ::testing::HasSubstr;

using CSiSnr = ComplexScaleInvariantSignalNoiseRatio;
using SaSdr = SourceAggregatedSignalDistortionRatio;
using SiSdr = ScaleInvariantSignalDistortionRatio;
using SiSnr = ScaleInvariantSignalNoiseRatio;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class M>
class RatiosTest : public ::testing::Test {};
using Ratios = ::testing::Types<SignalNoiseRatio, SiSdr, SiSnr, CSiSnr, SaSdr>;
TYPED_TEST_SUITE(RatiosTest, Ratios);

// Also: the mean has the same bits for any split.
TYPED_TEST(RatiosTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  options.split_rtol = 0;
  // A silent estimate is at a minimum that rounding decides.
  options.skip_gradients = {"silent", "constant"};
  testkit::check_metric<TypeParam>(std::string("audio/") + TypeParam::kName,
                                   options);
}

TYPED_TEST(RatiosTest, IntegersAreRefused) {
  TypeParam metric;
  const at::Tensor floats = at::randn({2, 3, 4, 2});
  EXPECT_THAT(refusal_of<c10::TypeError>(
                  [&] { metric.update(floats.to(at::kLong), floats); }),
              HasSubstr("expected preds of a floating-point dtype, got Long"));
  EXPECT_THAT(refusal_of<c10::TypeError>(
                  [&] { metric.update(floats, floats.to(at::kShort)); }),
              HasSubstr("expected target of a floating-point dtype"));
  EXPECT_EQ(metric.update_count(), 0);
}

TYPED_TEST(RatiosTest, OtherShapesAreRefused) {
  TypeParam metric;
  const at::Tensor signals = at::randn({2, 3, 4, 2});
  EXPECT_THAT(
      refusal_of([&] { metric.update(signals, signals.narrow(0, 0, 1)); }),
      HasSubstr("of the same shape, got [2, 3, 4, 2] and [1, 3, 4, 2]"));
  const bool is_complex = std::is_same_v<TypeParam, CSiSnr>;
  const at::Tensor empty = signals.narrow(is_complex ? 2 : 3, 0, 0);
  EXPECT_THAT(refusal_of([&] { metric.update(empty, empty); }),
              HasSubstr(is_complex ? "at least 1, got [2, 3, 0, 2]"
                                   : "at least 1, got [2, 3, 4, 0]"));
  EXPECT_THAT(refusal_of([&] { metric.update(at::ones({}), at::ones({})); }),
              HasSubstr("got []"));
  EXPECT_THAT(refusal_of([&] { metric.update(at::Tensor(), signals); }),
              HasSubstr("expected a tensor as preds"));
  EXPECT_EQ(metric.update_count(), 0);
}

TYPED_TEST(RatiosTest, WithoutSamplesTheValueIsNaN) {
  TypeParam metric(typename TypeParam::Options().count_silent(true));
  metric.update(at::zeros({0, 3, 4, 2}), at::zeros({0, 3, 4, 2}));
  const SignalScore score = metric.compute();
  EXPECT_TRUE(std::isnan(score.value.template item<double>()));
  EXPECT_EQ(score.silent.template item<std::int64_t>(), 0);
}

TYPED_TEST(RatiosTest, NaNFollowsThePolicy) {
  const at::Tensor preds = at::randn({3, 2, 4, 2});
  at::Tensor target = at::randn({3, 2, 4, 2});
  const double expected =
      value_of<TypeParam>(preds.narrow(0, 0, 2), target.narrow(0, 0, 2));
  target[2][0][0][0] = kNaN;
  EXPECT_TRUE(std::isnan(value_of<TypeParam>(preds, target)));
  TypeParam refuses({}, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(refusal_of([&] { refuses.update(preds, target); }),
              HasSubstr("expected signals without NaN, got some in sample "));
  EXPECT_EQ(refuses.update_count(), 0);
  if (std::is_same_v<TypeParam, CSiSnr>) {
    TypeParam ignores({}, MetricOptions().nan_policy(NanPolicy::kIgnore));
    EXPECT_EQ(ignores.forward(preds, target).value.template item<double>(),
              expected);
  }
}

TYPED_TEST(RatiosTest, InfiniteSignalsAreNaN) {
  const at::Tensor signal = at::randn({1, 3, 4, 2});
  at::Tensor infinite = signal.clone();
  infinite[0][1][2][0] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(value_of<TypeParam>(signal, infinite)));
  EXPECT_TRUE(std::isnan(value_of<TypeParam>(infinite, infinite)));
}

TYPED_TEST(RatiosTest, AnyDtypesAndLayoutsOfFloats) {
  const at::Tensor preds = at::randn({2, 3, 4, 2});
  const at::Tensor target = at::randn({2, 3, 4, 2});
  const double value = value_of<TypeParam>(preds, target);
  EXPECT_EQ(value_of<TypeParam>(preds, target.to(at::kDouble)), value);
  EXPECT_EQ(value_of<TypeParam>(
                preds.transpose(0, 3).contiguous().transpose(0, 3), target),
            value);
  EXPECT_TRUE(std::isfinite(
      value_of<TypeParam>(preds.to(at::kBFloat16), target.to(at::kHalf))));
}

// "Choose float64 sums with TM's e."
TEST(SiSdrTest, TheEpsilonOfTheDtypeBoundsTheRatio) {
  const at::Tensor signal = at::full({16000}, 0.1, at::kDouble);
  EXPECT_NEAR(value_of<SiSdr>(signal.to(at::kFloat), signal.to(at::kFloat)),
              91.25, 0.05);
  EXPECT_NEAR(value_of<SiSdr>(signal, signal), 178.6, 0.1);
  const at::Tensor quiet = signal.mul(1e-3).to(at::kFloat);
  EXPECT_NEAR(value_of<SiSdr>(quiet, quiet), 31.26, 0.05);
}

TEST(SiSdrTest, SumsOfFloatsAreFloat64) {
  const at::Tensor target = at::randn({64000});
  const at::Tensor preds = target.add(at::randn({64000}).mul(1e-5));
  const at::Tensor p = preds.to(at::kDouble), t = target.to(at::kDouble);
  const at::Tensor scaled = t.mul(p.mul(t).sum().div(t.square().sum()));
  const double expected =
      10 * std::log10(scaled.square().sum().item<double>() /
                      scaled.sub(p).square().sum().item<double>());
  EXPECT_GT(expected, 95);
  EXPECT_NEAR(value_of<SiSdr>(preds, target), expected, 1e-1);
  EXPECT_NEAR(value_of<SiSdr>(p, t), expected, 1e-9);
}

// "Silent target -91.25; silent estimate or both 0."
TEST(SiSdrTest, SilenceIsDefined) {
  const at::Tensor signal = at::full({1, 16000}, 0.1);
  const at::Tensor silence = at::zeros({1, 16000});
  SiSdr metric(SiSdr::Options().count_silent(true));
  EXPECT_NEAR(metric.forward(signal, silence).value.item<double>(), -91.25,
              0.05);
  EXPECT_NEAR(metric.forward(silence, signal).value.item<double>(), 0, 1e-4);
  EXPECT_EQ(metric.forward(silence, silence).value.item<double>(), 0);
  EXPECT_EQ(metric.compute().silent.item<std::int64_t>(), 2);
}

TEST(SignalNoiseRatioTest, SilenceIsDefined) {
  const at::Tensor signal = at::full({1, 16000}, 0.1);
  const at::Tensor silence = at::zeros({1, 16000});
  SignalNoiseRatio metric(SignalNoiseRatioOptions().count_silent(true));
  EXPECT_NEAR(metric.forward(signal, silence).value.item<double>(), -91.25,
              0.05);
  EXPECT_EQ(metric.forward(silence, signal).value.item<double>(), 0);
  EXPECT_EQ(metric.forward(silence, silence).value.item<double>(), 0);
  EXPECT_EQ(metric.compute().silent.item<std::int64_t>(), 2);
}

TEST(SignalNoiseRatioTest, AConstantReferenceIsSilentWithoutItsMean) {
  const auto centered =
      SignalNoiseRatioOptions().zero_mean(true).count_silent(true);
  SignalNoiseRatio metric(centered);
  // The float64 mean of 0.1s would not be 0.1.
  const at::Tensor constant = at::full({2, 1000}, 0.1);
  const at::Tensor preds = at::randn({2, 1000});
  metric.update(preds, constant);
  EXPECT_EQ(metric.compute().silent.item<std::int64_t>(), 2);
  EXPECT_NEAR(metric.compute().value.item<double>(),
              value_of<SignalNoiseRatio>(preds, at::zeros({2, 1000}), centered),
              1e-12);
  SignalNoiseRatio with_means(SignalNoiseRatioOptions().count_silent(true));
  with_means.update(preds, constant);
  EXPECT_EQ(with_means.compute().silent.item<std::int64_t>(), 0);
}

TEST(SignalNoiseRatioTest, EachLeadingDimensionIsOfSamples) {
  const at::Tensor preds = at::randn({2, 3, 50});
  const at::Tensor target = at::randn({2, 3, 50});
  EXPECT_EQ(
      value_of<SignalNoiseRatio>(preds, target),
      value_of<SignalNoiseRatio>(preds.flatten(0, 1), target.flatten(0, 1)));
  EXPECT_EQ(value_of<SignalNoiseRatio>(preds[0][0], target[0][0]),
            value_of<SignalNoiseRatio>(preds[0].narrow(0, 0, 1),
                                       target[0].narrow(0, 0, 1)));
}

TEST(SignalNoiseRatioTest, WithoutACountTheResultIsATensor) {
  MetricCollection metrics;
  metrics.add("snr",
              SignalNoiseRatio(SignalNoiseRatioOptions().count_silent(true)));
  metrics.add("plain", SignalNoiseRatio());
  metrics.update(at::randn({2, 8}), at::zeros({2, 8}));
  const Results results = metrics.compute();
  EXPECT_EQ(results.size(), 3);
  EXPECT_EQ(results["snr.silent"].item<std::int64_t>(), 2);
  EXPECT_EQ(results["snr"].item<double>(), results["plain"].item<double>());
}

TEST(SiSnrTest, IsSiSdrWithoutMeans) {
  const at::Tensor preds = at::randn({3, 40}).add(1);
  const at::Tensor target = at::randn({3, 40}).sub(2);
  EXPECT_EQ(value_of<SiSnr>(preds, target),
            value_of<SiSdr>(
                preds, target,
                ScaleInvariantSignalDistortionRatioOptions().zero_mean(true)));
}

TEST(CSiSnrTest, ComplexAndPairsAreTheSame) {
  const at::Tensor preds = at::randn({2, 3, 5, 2});
  const at::Tensor target = at::randn({2, 3, 5, 2});
  const double value = value_of<CSiSnr>(preds, target);
  EXPECT_EQ(
      value_of<CSiSnr>(at::view_as_complex(preds), at::view_as_complex(target)),
      value);
  EXPECT_EQ(value_of<CSiSnr>(at::view_as_complex(preds), target), value);
  EXPECT_EQ(value_of<CSiSnr>(at::view_as_complex(preds).conj(),
                             at::view_as_complex(target).conj()),
            value);
  EXPECT_THAT(refusal_of([&] {
                value_of<CSiSnr>(at::randn({2, 3, 5}), at::randn({2, 3, 5}));
              }),
              HasSubstr("expected preds of shape [..., F, T, 2], or complex "
                        "[..., F, T], got [2, 3, 5]"));
}

// "a REAL (a phase turn is error)".
TEST(CSiSnrTest, AnotherPhaseIsAnError) {
  const at::Tensor target = at::randn({1, 3, 5, 2}, at::kDouble);
  const at::Tensor turned =
      at::stack({target.select(3, 1).neg(), target.select(3, 0)}, 3);
  EXPECT_LT(value_of<CSiSnr>(turned, target), -100);
  EXPECT_GT(value_of<CSiSnr>(target.mul(3), target), 100);
}

TEST(SignalNoiseRatioTest, ComplexSignalsAreRefused) {
  SignalNoiseRatio metric;
  EXPECT_THAT(
      refusal_of<c10::TypeError>([&] {
        const at::Tensor signal = at::view_as_complex(at::randn({2, 5, 2}));
        metric.update(signal, signal);
      }),
      HasSubstr("expected preds of a floating-point dtype, got "
                "ComplexFloat"));
}

TEST(SaSdrTest, OneScaleForAllSpeakers) {
  const at::Tensor target = at::randn({1, 2, 50}, at::kDouble);
  EXPECT_GT(value_of<SaSdr>(target.mul(2), target), 100);
  const at::Tensor apart =
      target.mul(at::tensor({2.0, 1.0}, at::kDouble).reshape({1, 2, 1}));
  EXPECT_LT(value_of<SaSdr>(apart, target), 30);
  EXPECT_LT(value_of<SaSdr>(
                target.mul(2), target,
                SourceAggregatedSignalDistortionRatioOptions().scale_invariant(
                    false)),
            1);
}

TEST(RatioLossTest, ArithmeticAndCounts) {
  const at::Tensor preds = at::randn({3, 40}, at::kDouble);
  const at::Tensor target = at::randn({3, 40}, at::kDouble);
  const double expected = value_of<SiSdr>(preds, target);
  losses::MetricLoss with_count{
      SiSdr(ScaleInvariantSignalDistortionRatioOptions().count_silent(true))};
  const at::Tensor p = preds.clone().set_requires_grad(true);
  const at::Tensor value = with_count->forward(p, target);
  EXPECT_EQ(value.item<double>(), expected);
  value.backward();
  EXPECT_GT(p.grad().abs().sum().item<double>(), 0);
  losses::MetricLoss negative{-1 * SiSdr()};
  EXPECT_EQ(negative->forward(p, target).item<double>(), -expected);
}

TEST(RatioGradientTest, SilentSignalsHaveFiniteGradients) {
  for (const bool silent_target : {true, false}) {
    const at::Tensor preds =
        (silent_target ? at::randn({1, 20}) : at::zeros({1, 20}))
            .set_requires_grad(true);
    const at::Tensor target =
        silent_target ? at::zeros({1, 20}) : at::randn({1, 20});
    SiSnr metric;
    metric.forward(preds, target).value.backward();
    EXPECT_TRUE(preds.grad().isfinite().all().item<bool>());
  }
}

}  // namespace
}  // namespace tally
