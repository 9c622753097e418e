#include "tally/metrics/aggregation/min_max_metric.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/tests/testing/metric_harness.h"

namespace tally {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class M>
double value_of(M& metric) {
  return metric.compute().template item<double>();
}

TEST(MinMetricTest, PassesTheHarness) {
  testkit::check_metric<MinMetric>("MinMetric");
}

TEST(MaxMetricTest, PassesTheHarness) {
  testkit::check_metric<MaxMetric>("MaxMetric");
}

TEST(MinMetricTest, TakesTensorsAndNumbers) {
  MinMetric lowest;
  EXPECT_EQ(value_of(lowest), kInfinity);
  lowest.update(at::tensor({3, 5}));
  lowest.update(0.25);
  lowest.update(at::ones({0}));
  EXPECT_EQ(value_of(lowest), 0.25);
}

TEST(MaxMetricTest, TakesTensorsAndNumbers) {
  MaxMetric best;
  EXPECT_EQ(value_of(best), -kInfinity);
  best.update(at::tensor({-3.0f, -5.0f}));
  best.update(at::ones({0}));
  EXPECT_EQ(value_of(best), -3);
  best.update(-1);
  EXPECT_EQ(value_of(best), -1);
}

TEST(MinMetricTest, SharesItsStateWithMaxMetric) {
  EXPECT_EQ(MinMetric().state_key(), MaxMetric().state_key());
}

TEST(MaxMetricTest, NothingButNanIsNothing) {
  MaxMetric ignoring(NanStrategy::kIgnore);
  ignoring.update(at::tensor({kNaN, kNaN}));
  EXPECT_EQ(value_of(ignoring), -kInfinity);
  EXPECT_THROW(MaxMetric(NanStrategy::kError).update(kNaN), c10::ValueError);
}

TEST(MaxMetricTest, NanReplacedTakesPart) {
  const auto options = AggregationOptions(NanStrategy::kReplace).nan_value(9);
  MaxMetric highest(options);
  highest.update(at::tensor({1.0, kNaN}));
  EXPECT_EQ(value_of(highest), 9);
}

TEST(MaxMetricTest, DisabledNanStaysWhereverItCame) {
  for (const int place : {0, 5, 9}) {
    at::Tensor value = at::arange(10, at::kFloat);
    value[place] = kNaN;
    MaxMetric highest(NanStrategy::kDisable);
    highest.update(value);
    highest.update(100.0);
    EXPECT_TRUE(std::isnan(value_of(highest))) << place;
  }
}

TEST(MinMetricTest, HasNoGraph) {
  const at::Tensor value = at::ones({3}).set_requires_grad(true);
  MinMetric lowest;
  EXPECT_FALSE(lowest.forward(value).requires_grad());
  EXPECT_THROW(lowest.update(at::ones({1}, at::kComplexDouble)),
               c10::TypeError);
}

}  // namespace
}  // namespace tally
