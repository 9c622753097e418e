#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "tally/metrics/regression/quantile_scores.h"
#include "tally/metrics/regression/states/weighted_rows.h"
#include "tally/metrics/regression/tweedie_deviance.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class M>
double value_of(M& metric) {
  return metric.compute().template item<double>();
}

at::Tensor wave(std::int64_t count, double phase) {
  return at::arange(count, at::kDouble).mul(0.37).add(phase).sin().add(1.5);
}

TEST(QuantilesTest, MedianPassesTheHarness) {
  testkit::check_metric<MedianAbsoluteError>("MedianAbsoluteError");
}

// Numbers of all signs and sizes, some of them several times.
TEST(QuantilesTest, ManyValuesAreNotSorted) {
  for (const std::int64_t count : {40000, 40001}) {
    at::Tensor values = at::randn({count}, at::kDouble).pow(3);
    values.slice(0, 0, count / 2, 7).fill_(0.25);
    values.slice(0, 0, 300, 3).fill_(kInfinity);
    values.slice(0, 1, 300, 3).fill_(-kInfinity);
    const at::Tensor sorted = std::get<0>(values.sort());
    internal::regression::WeightedSample sample;
    sample.rows = values;
    sample.values = {values.const_data_ptr<double>(),
                     static_cast<std::size_t>(count)};
    for (const double alpha : {0.001, 0.25, 0.3, 0.5, 0.777, 0.9999, 1.0}) {
      const double place = alpha * static_cast<double>(count);
      const bool exact = std::abs(place - std::round(place)) < 1e-6;
      const auto index = static_cast<std::int64_t>(exact ? std::round(place)
                                                         : std::ceil(place)) -
                         1;
      const double low = sorted[index].item<double>();
      const double next =
          exact && index + 1 < count ? sorted[index + 1].item<double>() : low;
      EXPECT_EQ(internal::regression::quantile(sample, alpha), (low + next) / 2)
          << alpha << " of " << count;
    }
  }
}

// The next value begins with other bits.
TEST(QuantilesTest, ManyValuesWithAGapInTheMiddle) {
  const at::Tensor target = at::zeros({40000}, at::kDouble);
  const at::Tensor preds = target.add(1);
  preds.slice(0, 0, 40000, 2).fill_(-7);
  MedianAbsoluteError median;
  median.update(preds, target);
  EXPECT_EQ(value_of(median), 4);
}

template <class M>
void check_d2() {
  testkit::HarnessOptions options;
  // The mean over outputs; errors of 0 are kinks, constant targets jumps.
  options.adapt_options = [](const auto& fixture, auto& texts) {
    if (fixture.expected.at("").dim() > 0) texts["multioutput"] = "raw_values";
  };
  options.skip_gradients = {"equal", "int64", "uint8", "constant_target"};
  testkit::check_metric<M>(M::kName, options);
}

TEST(QuantilesTest, D2PinballPassesTheHarness) { check_d2<D2PinballScore>(); }
TEST(QuantilesTest, D2AbsoluteErrorPassesTheHarness) {
  check_d2<D2AbsoluteErrorScore>();
}

TEST(QuantilesTest, TweedieDeviancePassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  // Targets of 0 are at the edge.
  options.skip_gradients = {"power_1", "power_1_5", "power_minus_1_5",
                            "counts"};
  testkit::check_metric<TweedieDevianceScore>("TweedieDevianceScore", options);
}

TEST(QuantilesTest, D2TweediePassesTheHarness) {
  testkit::HarnessOptions options;
  options.skip_gradients = {"constant_target", "constant_equal"};
  testkit::check_metric<D2TweedieScore>("D2TweedieScore", options);
}

TEST(QuantilesTest, AveragesOutputs) {
  const at::Tensor preds = wave(60, 0).reshape({20, 3});
  const at::Tensor target = wave(60, 1).reshape({20, 3});
  D2PinballScore mean(D2PinballScoreOptions(0.3).num_outputs(3));
  D2PinballScore raw(D2PinballScoreOptions(0.3).num_outputs(3).multioutput(
      MultiOutput::kRawValues));
  mean.update(preds, target);
  raw.update(preds, target);
  EXPECT_DOUBLE_EQ(value_of(mean), raw.compute().mean().item<double>());
  EXPECT_EQ(mean.state_key(), raw.state_key());
}

TEST(QuantilesTest, BatchesWithAndWithoutWeightsMix) {
  MedianAbsoluteError median;
  const at::Tensor zero = at::zeros({3});
  median.update(at::tensor({1.0, 2.0, 3.0}), zero);
  median.update(at::tensor({9.0, 8.0, 7.0}), zero, at::tensor({5, 0, 0}));
  EXPECT_EQ(value_of(median), 9);
  MedianAbsoluteError without;
  without.update(at::tensor({1.0}), at::zeros({1}), at::zeros({1}));
  EXPECT_TRUE(std::isnan(value_of(without)));
}

TEST(QuantilesTest, MixedMedianIsThatOfOnes) {
  const at::Tensor preds = wave(41, 0);
  const at::Tensor target = wave(41, 1);
  MedianAbsoluteError plain, mixed;
  plain.update(preds, target);
  mixed.update(preds.narrow(0, 0, 17), target.narrow(0, 0, 17));
  mixed.update(preds.narrow(0, 17, 24), target.narrow(0, 17, 24),
               at::ones({24}));
  EXPECT_EQ(value_of(plain), value_of(mixed));
}

TEST(QuantilesTest, UndefinedBeforeAnyUpdate) {
  MedianAbsoluteError median;
  EXPECT_TRUE(std::isnan(value_of(median)));
  median.update(at::ones({0}), at::ones({0}));
  EXPECT_TRUE(std::isnan(value_of(median)));
  MedianAbsoluteError several(2);
  EXPECT_EQ(several.compute().sizes(), at::IntArrayRef{2});
  D2AbsoluteErrorScore d2;
  EXPECT_TRUE(std::isnan(value_of(d2)));
  D2PinballScore outputs(D2PinballScoreOptions(0.5).num_outputs(2));
  EXPECT_TRUE(std::isnan(value_of(outputs)));
  D2PinballScore raw(D2PinballScoreOptions(0.5).num_outputs(2).multioutput(
      MultiOutput::kRawValues));
  EXPECT_EQ(raw.compute().sizes(), at::IntArrayRef{2});
  D2TweedieScore tweedie(1);
  EXPECT_TRUE(std::isnan(value_of(tweedie)));
  tweedie.update(at::ones({0}), at::ones({0}));
  EXPECT_TRUE(std::isnan(value_of(tweedie)));
}

TEST(QuantilesTest, InfiniteErrorsHaveAMedian) {
  const double infinity = std::numeric_limits<double>::infinity();
  MedianAbsoluteError median;
  median.update(at::tensor({infinity, 1.0, -infinity, 2.0, 3.0}),
                at::zeros({5}));
  EXPECT_EQ(value_of(median), 3);
}

TEST(QuantilesTest, NanGoesByThePolicy) {
  const at::Tensor preds = at::tensor({1.0, kNaN, 3.0, 4.0});
  const at::Tensor target = at::tensor({2.0, 1.0, 1.0, 4.5});
  MedianAbsoluteError passing;
  passing.update(preds, target);
  EXPECT_TRUE(std::isnan(value_of(passing)));
  const auto ignore = MetricOptions().nan_policy(NanPolicy::kIgnore);
  MedianAbsoluteError ignoring({}, ignore);
  ignoring.update(preds, target);
  EXPECT_EQ(value_of(ignoring), 1);
  const at::Tensor some = at::tensor({0, 2, 3});
  for (const double power : {0.0, 1.0}) {
    D2TweedieScore bad(power), dropping(power, ignore), clean(power);
    bad.update(preds, target);
    EXPECT_TRUE(std::isnan(value_of(bad)));
    dropping.update(preds, target);
    clean.update(preds.index_select(0, some), target.index_select(0, some));
    EXPECT_EQ(value_of(dropping), value_of(clean));
    dropping.update(target, target, preds);
    EXPECT_EQ(dropping.state()["total"].item<std::int64_t>(), 6);
  }
  D2AbsoluteErrorScore dropping({}, ignore), clean;
  dropping.update(target, preds);
  clean.update(target.index_select(0, some), preds.index_select(0, some));
  EXPECT_EQ(value_of(dropping), value_of(clean));
  D2AbsoluteErrorScore bad;
  bad.update(target, preds);
  EXPECT_TRUE(std::isnan(value_of(bad)));
  D2PinballScore refusing(0.5, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THROW(refusing.update(preds, target), c10::ValueError);
}

TEST(QuantilesTest, SameWithAndWithoutAGraph) {
  const at::Tensor preds = wave(5000, 0);
  const at::Tensor target = wave(5000, 1);
  const at::Tensor weight = wave(5000, 2);
  for (const double power : {-1.0, 0.0, 1.0, 1.5, 2.0, 3.0}) {
    TweedieDevianceScore deviance(power);
    D2TweedieScore d2(power);
    for (const auto& w : {at::Tensor(), weight}) {
      const at::Tensor recorded = preds.clone().set_requires_grad(true);
      EXPECT_TRUE(deviance.forward(preds, target, w)
                      .allclose(deviance.forward(recorded, target, w), 1e-11));
      EXPECT_TRUE(d2.forward(preds, target, w)
                      .allclose(d2.forward(recorded, target, w), 1e-11));
    }
  }
}

TEST(QuantilesTest, D2OfTheNormalIsR2) {
  const at::Tensor target = wave(4000, 0).add(1e6);
  const at::Tensor preds = target.add(wave(4000, 1).mul(0.1));
  D2TweedieScore d2;
  for (int i = 0; i < 4; ++i) {
    d2.update(preds.narrow(0, 1000 * i, 1000),
              target.narrow(0, 1000 * i, 1000));
  }
  const double expected =
      1 - target.sub(preds).square().sum().item<double>() /
              target.sub(target.mean()).square().sum().item<double>();
  EXPECT_NEAR(value_of(d2), expected, 1e-11);
}

TEST(QuantilesTest, GradientIsThatOfThePredictionsOnly) {
  const at::Tensor preds = wave(5, 0).set_requires_grad(true);
  const at::Tensor target = wave(5, 1).set_requires_grad(true);
  D2TweedieScore tweedie(1);
  tweedie.forward(preds, target).backward();
  D2PinballScore pinball(0.3);
  pinball.forward(preds, target).backward();
  EXPECT_TRUE(preds.grad().defined());
  EXPECT_FALSE(target.grad().defined());
}

TEST(QuantilesTest, RefusesValuesOutsideOfTheDomain) {
  const at::Tensor ones = at::ones({2});
  const at::Tensor zero = at::tensor({1.0f, 0.0f});
  const at::Tensor negative = at::tensor({1.0f, -1.0f});
  const auto update = [](double power, const at::Tensor& preds,
                         const at::Tensor& target) {
    return refusal_of<c10::Error>(
        [&] { TweedieDevianceScore(power).update(preds, target); });
  };
  EXPECT_THAT(
      update(-1, zero, negative),
      HasSubstr("expected preds above 0 with power -1, got 0 as preds and "
                "-1 as target at position 1"));
  EXPECT_THAT(
      update(1, ones, negative),
      HasSubstr("expected preds above 0 and target of at least 0 with "
                "power 1, got 1 as preds and -1 as target at position 1"));
  EXPECT_THAT(update(2, ones, zero),
              HasSubstr("expected preds above 0 and target above 0 with power "
                        "2, got 1 as preds and 0 as target at position 1"));
  EXPECT_EQ(update(0, negative, negative), "nothing");
  EXPECT_EQ(update(1, ones, zero), "nothing");
  EXPECT_EQ(update(-1, ones, negative), "nothing");
  const auto forward = [](double power, const at::Tensor& preds,
                          const at::Tensor& target) {
    return refusal_of<c10::Error>([&] {
      D2TweedieScore(power).forward(preds.clone().set_requires_grad(true),
                                    target);
    });
  };
  EXPECT_THAT(forward(1.5, zero, ones), HasSubstr("got 0 as preds and 1 as"));
  EXPECT_THAT(forward(1.5, ones, negative), HasSubstr("and -1 as target"));
  EXPECT_THAT(forward(3, ones, zero), HasSubstr("and 0 as target"));
  EXPECT_EQ(forward(0, negative, zero), "nothing");
}

TEST(QuantilesTest, RefusesOptionsThatMakeNoSense) {
  EXPECT_THAT(refusal_of<c10::Error>([] { TweedieDevianceScore score(0.5); }),
              HasSubstr("expected power of at most 0 or at least 1, got 0.5"));
  EXPECT_THAT(refusal_of<c10::Error>([] { D2PinballScore score(2); }),
              HasSubstr("expected alpha from 0 to 1, got 2"));
  EXPECT_THAT(refusal_of<c10::Error>([] { D2AbsoluteErrorScore score(0); }),
              HasSubstr("expected num_outputs of at least 1, got 0"));
  EXPECT_THAT(
      refusal_of<c10::Error>([] {
        D2AbsoluteErrorScore score(D2AbsoluteErrorScoreOptions().multioutput(
            MultiOutput::kVarianceWeighted));
      }),
      HasSubstr("expected multioutput uniform_average or raw_values"));
  D2AbsoluteErrorScore d2;
  EXPECT_THROW(d2.update(at::ones({2, 2}), at::ones({2, 2})), c10::ValueError);
  EXPECT_THROW(d2.update(at::ones({2}), at::ones({2}), at::ones({3})),
               c10::ValueError);
  MedianAbsoluteError median;
  EXPECT_THROW(median.update(at::ones({2}), at::ones({2}), at::ones({3})),
               c10::ValueError);
}

}  // namespace
}  // namespace tally
