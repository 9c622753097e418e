#include "tally/metrics/regression/pearson_corr_coef.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/tests/testing/metric_harness.h"

namespace tally {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double value_of(PearsonCorrCoef& metric) {
  return metric.compute().item<double>();
}

// Pearson's r by the textbook, in two passes over float64.
double reference(const at::Tensor& preds, const at::Tensor& target) {
  const at::Tensor p = preds.to(at::kDouble);
  const at::Tensor t = target.to(at::kDouble);
  const at::Tensor dp = p.sub(p.mean());
  const at::Tensor dt = t.sub(t.mean());
  return dp.mul(dt)
      .sum()
      .div(dp.square().sum().mul(dt.square().sum()).sqrt())
      .item<double>();
}

// More than one block, a part of a block over, with a common trend.
at::Tensor wave(std::int64_t count, double phase) {
  return at::arange(count, at::kDouble).mul(0.37).add(phase).sin();
}

TEST(PearsonCorrCoefTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  testkit::check_metric<PearsonCorrCoef>("PearsonCorrCoef", options);
}

TEST(PearsonCorrCoefTest, MergesBatches) {
  PearsonCorrCoef pearson;
  pearson.update(at::tensor({1.0, 2.0}), at::tensor({1, 3}));
  pearson.update(at::tensor({3.0, 4.0}), at::tensor({2, 4}));
  EXPECT_NEAR(value_of(pearson), 0.8, 1e-15);
  EXPECT_EQ(pearson.higher_is_better(), true);
}

TEST(PearsonCorrCoefTest, IsNanForFewerThanTwoSamples) {
  PearsonCorrCoef pearson;
  EXPECT_TRUE(std::isnan(value_of(pearson)));
  pearson.update(at::ones({0}), at::ones({0}));
  EXPECT_TRUE(std::isnan(value_of(pearson)));
  pearson.update(at::ones({1}), at::ones({1}));
  EXPECT_TRUE(std::isnan(value_of(pearson)));
  PearsonCorrCoef several(3);
  EXPECT_EQ(several.compute().sizes(), at::IntArrayRef{3});
  several.update(at::ones({0, 3}), at::ones({0, 3}));
  EXPECT_TRUE(several.compute().isnan().all().item<bool>());
}

TEST(PearsonCorrCoefTest, LargeOffsetsCostNoPrecision) {
  for (const double offset : {0.0, 1e4, -1e6}) {
    const at::Tensor preds = wave(10'000, 0).add(offset).to(at::kFloat);
    const at::Tensor target = wave(10'000, 0.5).add(offset).to(at::kFloat);
    PearsonCorrCoef whole;
    whole.update(preds, target);
    EXPECT_NEAR(value_of(whole), reference(preds, target), 1e-12) << offset;
    PearsonCorrCoef parts;
    for (std::int64_t row = 0; row < 10'000; row += 16) {
      parts.update(preds.narrow(0, row, 16), target.narrow(0, row, 16));
    }
    EXPECT_NEAR(value_of(parts), reference(preds, target), 1e-12) << offset;
  }
}

// The mean of 0.1 is not 0.1 in float64.
TEST(PearsonCorrCoefTest, ConstantStaysConstantOverBlocksAndMerges) {
  const at::Tensor preds = wave(5000, 0);
  const at::Tensor constant = at::full({5000}, 0.1, at::kDouble);
  for (const bool graph : {false, true}) {
    PearsonCorrCoef pearson;
    for (const std::int64_t rows : {3, 5000, 1, 7}) {
      pearson.forward(preds.narrow(0, 0, rows).set_requires_grad(graph),
                      constant.narrow(0, 0, rows));
    }
    EXPECT_TRUE(std::isnan(value_of(pearson)));
    EXPECT_EQ(pearson.state()["squares_target"].item<double>(), 0);
  }
}

TEST(PearsonCorrCoefTest, StaysWithinItsRange) {
  const at::Tensor preds = wave(33, 0);
  PearsonCorrCoef pearson;
  for (int i = 1; i < 100; ++i) {
    pearson.update(preds.mul(0.1 * i), preds.mul(0.3 * i));
    EXPECT_LE(value_of(pearson), 1);
    EXPECT_NEAR(value_of(pearson), 1, 1e-12);
  }
}

TEST(PearsonCorrCoefTest, OutputsAreThoseOfColumns) {
  const at::Tensor preds = at::stack({wave(3000, 0), wave(3000, 1)}, 1);
  const at::Tensor target = at::stack({wave(3000, 0.3), wave(3000, 3)}, 1);
  PearsonCorrCoef several(2);
  several.update(preds, target);
  several.update(preds.narrow(0, 7, 100), target.narrow(0, 7, 100));
  for (int i = 0; i < 2; ++i) {
    const at::Tensor p = preds.select(1, i);
    const at::Tensor t = target.select(1, i);
    PearsonCorrCoef one;
    one.update(p, t);
    one.update(p.narrow(0, 7, 100), t.narrow(0, 7, 100));
    EXPECT_NEAR(several.compute()[i].item<double>(), value_of(one), 1e-13);
  }
}

TEST(PearsonCorrCoefTest, RefusesInputsThatDoNotFit) {
  PearsonCorrCoef pearson;
  EXPECT_THROW(pearson.update(at::ones({2}), at::ones({3})), c10::ValueError);
  EXPECT_THROW(pearson.update(at::ones({2}), at::ones({2}, at::kComplexFloat)),
               c10::TypeError);
  PearsonCorrCoef several(2);
  try {
    several.update(at::ones({4}), at::ones({4}));
    FAIL() << "inputs without outputs were accepted";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(
        error.what_without_backtrace(),
        HasSubstr("expected preds and target of shape [N, 2], got [4]"));
  }
  EXPECT_THROW(PearsonCorrCoef(-1), c10::ValueError);
}

TEST(PearsonCorrCoefTest, StatesOfOtherOutputsDoNotMerge) {
  const at::Tensor one = wave(4, 0);
  const at::Tensor two = at::stack({one, one}, 1);
  const at::Tensor three = at::stack({one, one, one}, 1);
  using State = JointMoments::State;
  const State of_one = PearsonCorrCoef().observe(one, one);
  const State of_two = PearsonCorrCoef(2).observe(two, two);
  const State of_three = PearsonCorrCoef(3).observe(three, three);
  EXPECT_THROW(State::merge(of_one, of_two), c10::ValueError);
  EXPECT_THROW(State::merge(of_two, of_three), c10::ValueError);
}

TEST(PearsonCorrCoefTest, NanGoesByThePolicy) {
  const at::Tensor preds = at::tensor({1.0, kNaN, 2.0, 3.0, 4.0});
  const at::Tensor target = at::tensor({1.0, 7.0, 3.0, 2.0, 4.0});
  PearsonCorrCoef passing;
  passing.update(preds, target);
  EXPECT_TRUE(std::isnan(value_of(passing)));
  PearsonCorrCoef refusing({}, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THROW(refusing.update(preds, target), c10::ValueError);
  EXPECT_EQ(refusing.update_count(), 0);
  const auto ignore = MetricOptions().nan_policy(NanPolicy::kIgnore);
  PearsonCorrCoef ignoring({}, ignore);
  ignoring.update(preds, target);
  EXPECT_NEAR(value_of(ignoring), 0.8, 1e-15);
  PearsonCorrCoef several(2, ignore);
  several.update(at::stack({preds, target}, 1), at::stack({target, target}, 1));
  EXPECT_TRUE(several.compute().allclose(at::tensor({0.8, 1.0}), 1e-14));
  EXPECT_EQ(several.state()["total"].item<std::int64_t>(), 4);
}

TEST(PearsonCorrCoefTest, InfinityGivesNan) {
  const double infinity = std::numeric_limits<double>::infinity();
  PearsonCorrCoef pearson({}, MetricOptions().nan_policy(NanPolicy::kError));
  pearson.update(at::tensor({1.0, infinity, 2.0}), at::arange(3));
  EXPECT_TRUE(std::isnan(value_of(pearson)));
}

TEST(PearsonCorrCoefTest, GradientIsZeroWithoutVariance) {
  const at::Tensor preds = wave(8, 0).set_requires_grad(true);
  PearsonCorrCoef pearson;
  const at::Tensor value = pearson.forward(preds, at::ones({8}));
  EXPECT_TRUE(std::isnan(value.item<double>()));
  value.backward();
  EXPECT_TRUE(preds.grad().equal(at::zeros({8})));
}

TEST(PearsonCorrCoefTest, SameWithAndWithoutAGraph) {
  for (const std::int64_t count : {1, 2}) {
    const at::Tensor preds = wave(6000, 0).add(100).reshape({-1, count});
    const at::Tensor target =
        wave(6000, 0.4).to(at::kFloat).reshape({-1, count});
    PearsonCorrCoef pearson(count);
    const at::Tensor plain = pearson.forward(preds, target);
    const at::Tensor recorded =
        pearson.forward(preds.clone().set_requires_grad(true), target);
    EXPECT_TRUE(recorded.requires_grad());
    EXPECT_TRUE(plain.allclose(recorded, 1e-12, 0));
  }
}

}  // namespace
}  // namespace tally
