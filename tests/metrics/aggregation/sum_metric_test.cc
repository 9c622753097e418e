#include "tally/metrics/aggregation/sum_metric.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double value_of(SumMetric& metric) { return metric.compute().item<double>(); }

TEST(SumMetricTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  // A sum of 2e9 does not show steps of 1e-4.
  options.skip_gradients = {"offset_1e8"};
  testkit::check_metric<SumMetric>("SumMetric", options);
}

TEST(SumMetricTest, AddsTensorsAndNumbers) {
  SumMetric tokens;
  tokens.update(at::ones({4, 3}, at::kBool));
  tokens.update(128);
  tokens.update(0.25f);
  EXPECT_EQ(value_of(tokens), 140.25);
}

TEST(SumMetricTest, IsZeroBeforeAnyUpdate) {
  SumMetric sum;
  const at::Tensor value = sum.compute();
  EXPECT_EQ(value.dim(), 0);
  EXPECT_EQ(value.scalar_type(), at::kDouble);
  EXPECT_EQ(value.item<double>(), 0);
}

TEST(SumMetricTest, TakesAnyRealDtype) {
  for (const at::ScalarType dtype :
       {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt,
        at::kShort, at::kChar, at::kByte, at::kUInt16}) {
    SumMetric sum;
    sum.update(at::arange(20, at::kFloat).to(dtype));
    EXPECT_EQ(value_of(sum), 190) << dtype;
  }
}

TEST(SumMetricTest, RefusesWhatIsNoRealTensor) {
  SumMetric sum;
  const auto refusal = [&](const at::Tensor& value) {
    return testkit::refusal_of_update<c10::Error>(sum, value);
  };
  EXPECT_THAT(refusal(at::ones({2}, at::kComplexFloat)),
              HasSubstr("expected value of a real dtype, got ComplexFloat"));
  EXPECT_THAT(refusal(at::ones({2}).to_sparse()),
              HasSubstr("expected value to be a dense tensor, got one of "
                        "layout Sparse"));
  EXPECT_THAT(refusal(at::Tensor()), HasSubstr("expected a tensor as value"));
  EXPECT_EQ(sum.update_count(), 0);
}

TEST(SumMetricTest, InfinitiesOfBothSignsGiveNan) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  SumMetric sum(NanStrategy::kError);
  sum.update(at::tensor({kInfinity, 1.0}));
  EXPECT_EQ(value_of(sum), kInfinity);
  sum.update(at::tensor({kInfinity, -kInfinity}));
  EXPECT_TRUE(std::isnan(value_of(sum)));
}

TEST(SumMetricTest, GradientOfNanLeftOutIsZero) {
  const at::Tensor value = at::tensor({1.0, kNaN, 3.0}).set_requires_grad(true);
  SumMetric sum(NanStrategy::kIgnore);
  sum.forward(value).backward();
  EXPECT_TRUE(value.grad().equal(at::tensor({1.0, 0.0, 1.0})));
}

TEST(SumMetricTest, SameWithAndWithoutAGraph) {
  const at::Tensor value = at::arange(1000, at::kDouble).sin();
  SumMetric plain;
  SumMetric recorded;
  plain.forward(value);
  recorded.forward(value.clone().set_requires_grad(true));
  EXPECT_NEAR(value_of(plain), value_of(recorded), 1e-12);
}

}  // namespace
}  // namespace tally
