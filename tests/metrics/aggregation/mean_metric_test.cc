#include "tally/metrics/aggregation/mean_metric.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "tally/tests/testing/metric_harness.h"

namespace tally {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double value_of(MeanMetric& metric) { return metric.compute().item<double>(); }

TEST(MeanMetricTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  testkit::check_metric<MeanMetric>("MeanMetric", options);
}

TEST(MeanMetricTest, WeighsNumbers) {
  MeanMetric mean_loss;
  mean_loss.update(0.5, 32);
  mean_loss.update(2.0f, 8);
  EXPECT_EQ(value_of(mean_loss), 0.8);
}

TEST(MeanMetricTest, IsNanBeforeAnyUpdateAndWithoutWeight) {
  MeanMetric mean;
  EXPECT_TRUE(std::isnan(value_of(mean)));
  mean.update(at::ones({0}));
  EXPECT_TRUE(std::isnan(value_of(mean)));
  mean.update(at::ones({3}), 0);
  EXPECT_TRUE(std::isnan(value_of(mean)));
  mean.update(7.0);
  EXPECT_EQ(value_of(mean), 7);
}

TEST(MeanMetricTest, CountsBeyondWhatFloat32Holds) {
  MeanMetric mean;
  mean.update(1.0, std::int64_t{1} << 24);
  for (int i = 0; i < 3; ++i) mean.update(at::ones({1}), at::ones({1}));
  EXPECT_EQ(mean.state()["weight"].item<double>(), (1 << 24) + 3);
}

TEST(MeanMetricTest, WeightBroadcastsOnly) {
  const at::Tensor value = at::arange(6, at::kFloat).reshape({2, 3});
  MeanMetric mean;
  mean.update(value, at::tensor({1, 0, 0}));
  EXPECT_EQ(value_of(mean), 1.5);
  mean.reset();
  mean.update(value, at::tensor({1.0, 3.0}).reshape({2, 1}));
  EXPECT_EQ(value_of(mean), 3.25);
  try {
    mean.update(value, at::ones({2}));
    FAIL() << "a weight of another shape was accepted";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(),
                HasSubstr("expected weight of a shape that broadcasts to that "
                          "of value, [2, 3], got [2]"));
  }
  EXPECT_THROW(mean.update(at::ones({1}), value), c10::ValueError);
  EXPECT_THROW(mean.update(value, at::ones({1}, at::kComplexFloat)),
               c10::TypeError);
}

TEST(MeanMetricTest, NanWeightLeavesItsValueOut) {
  const at::Tensor value = at::tensor({kNaN, 2.0, 4.0});
  const at::Tensor weight = at::tensor({1.0, kNaN, 3.0});
  MeanMetric ignoring(NanStrategy::kIgnore);
  ignoring.update(value, weight);
  EXPECT_EQ(value_of(ignoring), 4);
  MeanMetric replacing(AggregationOptions(NanStrategy::kReplace).nan_value(8));
  replacing.update(value, weight);
  EXPECT_EQ(value_of(replacing), 5);
  MeanMetric passing(NanStrategy::kDisable);
  passing.update(value, weight);
  EXPECT_TRUE(std::isnan(value_of(passing)));
  EXPECT_TRUE(std::isnan(value[0].item<double>()));
  EXPECT_TRUE(std::isnan(weight[1].item<double>()));
}

TEST(MeanMetricTest, NanWeightOfAllLeavesAllOut) {
  MeanMetric mean(NanStrategy::kIgnore);
  mean.update(at::ones({4}), kNaN);
  EXPECT_EQ(mean.state()["weight"].item<double>(), 0);
}

TEST(MeanMetricTest, InfinityTimesNoWeightIsNan) {
  MeanMetric mean(NanStrategy::kError);
  mean.update(at::full({2}, std::numeric_limits<double>::infinity()), 0);
  EXPECT_TRUE(std::isnan(value_of(mean)));
}

TEST(MeanMetricTest, GradientsOfWhatIsLeftOutAreZero) {
  const at::Tensor value =
      at::tensor({kNaN, 2.0, 4.0, 6.0}).set_requires_grad(true);
  const at::Tensor weight =
      at::tensor({1.0, kNaN, 3.0, 1.0}).set_requires_grad(true);
  MeanMetric mean(NanStrategy::kIgnore);
  const at::Tensor result = mean.forward(value, weight);
  EXPECT_EQ(result.item<double>(), 4.5);
  result.backward();
  EXPECT_TRUE(value.grad().equal(at::tensor({0.0, 0.0, 0.75, 0.25})));
  EXPECT_TRUE(weight.grad().equal(at::tensor({0.0, 0.0, -0.125, 0.375})));
}

TEST(MeanMetricTest, SameWithAndWithoutAGraph) {
  const at::Tensor value = at::arange(1000, at::kDouble).sin();
  const at::Tensor weight = at::arange(1000, at::kFloat).cos().abs();
  MeanMetric plain;
  MeanMetric recorded;
  plain.forward(value, weight);
  recorded.forward(value, weight.clone().set_requires_grad(true));
  EXPECT_NEAR(value_of(plain), value_of(recorded), 1e-14);
}

TEST(MeanMetricTest, TakesAWeightThatMayBeAbsent) {
  const at::Tensor value = at::tensor({1.0, 4.0});
  const std::optional<at::Tensor> weight = at::tensor({3.0, 1.0});
  MeanMetric mean;
  EXPECT_EQ(mean.forward(value, weight).item<double>(), 1.75);
  mean.update(value, std::optional<at::Tensor>());
  mean.update(value, std::nullopt);
  Metric& any = mean;
  any.update(value, weight);
  EXPECT_EQ(mean.state()["weight"].item<double>(), 12);
}

}  // namespace
}  // namespace tally
