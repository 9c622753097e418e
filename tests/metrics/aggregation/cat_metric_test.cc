#include "tally/metrics/aggregation/cat_metric.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tally/tests/testing/metric_harness.h"

namespace tally {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(CatMetricTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.order_matters = true;
  options.gives_back = true;
  testkit::check_metric<CatMetric>("CatMetric", options);
}

TEST(CatMetricTest, JoinsRowsAndNumbers) {
  CatMetric numbers;
  numbers.update(0.5);
  numbers.update(at::tensor({1.5, 2.5}));
  EXPECT_TRUE(numbers.compute().equal(at::tensor({0.5, 1.5, 2.5})));
  CatMetric rows;
  rows.update(at::ones({2, 3}, at::kHalf));
  rows.update(at::ones({1, 3}, at::kHalf));
  EXPECT_EQ(rows.compute().sizes(), (at::IntArrayRef{3, 3}));
  EXPECT_EQ(rows.compute().scalar_type(), at::kHalf);
}

TEST(CatMetricTest, IsEmptyBeforeAnyUpdate) {
  CatMetric cat;
  EXPECT_EQ(cat.compute().sizes(), at::IntArrayRef{0});
  EXPECT_EQ(cat.compute().scalar_type(), at::kDouble);
}

TEST(CatMetricTest, RefusesRowsThatDoNotFit) {
  CatMetric cat;
  cat.update(at::ones({2, 3}));
  for (const at::Tensor& other :
       {at::ones({2, 4}), at::ones({3}), at::ones({2, 3}, at::kDouble)}) {
    try {
      cat.update(other);
      FAIL() << "accepted " << other.sizes();
    } catch (const c10::ValueError& error) {
      EXPECT_THAT(error.what_without_backtrace(),
                  HasSubstr("CatMetric: state 'value' holds rows of Float"));
    }
  }
  EXPECT_THROW(cat.update(at::ones({2, 3}, at::kComplexFloat)), c10::TypeError);
  EXPECT_EQ(cat.compute().size(0), 2);
}

TEST(CatMetricTest, LeavesOutRowsWithANan) {
  const at::Tensor rows = at::tensor({1.0, kNaN, 3.0, 4.0}).reshape({2, 2});
  const at::Tensor kept = at::tensor({3.0, 4.0}).reshape({1, 2});
  for (const NanStrategy strategy :
       {NanStrategy::kIgnore, NanStrategy::kWarn}) {
    CatMetric cat(strategy);
    cat.update(rows);
    EXPECT_TRUE(cat.compute().equal(kept));
  }
  CatMetric replacing(AggregationOptions(NanStrategy::kReplace).nan_value(2));
  replacing.update(rows);
  EXPECT_TRUE(replacing.compute().equal(
      at::tensor({1.0, 2.0, 3.0, 4.0}).reshape({2, 2})));
  EXPECT_THROW(CatMetric(NanStrategy::kError).update(rows), c10::ValueError);
  CatMetric ignoring(NanStrategy::kIgnore);
  ignoring.update(kNaN);
  EXPECT_EQ(ignoring.compute().sizes(), at::IntArrayRef{0});
}

TEST(CatMetricTest, NoNanHasASign) {
  const std::pair<at::ScalarType, at::ScalarType> kinds[] = {
      {at::kHalf, at::kShort},
      {at::kBFloat16, at::kShort},
      {at::kFloat, at::kInt},
      {at::kDouble, at::kLong}};
  for (const auto& [dtype, bits] : kinds) {
    for (const std::int64_t place : {0, 255, 256, 599}) {
      const at::Tensor rows = at::full({600}, -INFINITY, dtype);
      rows.view(bits)[place] = -1;
      ASSERT_TRUE(rows.signbit()[place].item<bool>());
      CatMetric metric(NanStrategy::kDisable);
      metric.update(rows);
      const at::Tensor value = metric.compute();
      EXPECT_TRUE(value[place].isnan().item<bool>());
      EXPECT_FALSE(value.signbit()[place].item<bool>()) << dtype << place;
      EXPECT_EQ(value.signbit().sum().item<std::int64_t>(), 599);
    }
  }
}

TEST(CatMetricTest, ResultWithAGraphIsNotTheCallersTensor) {
  const at::Tensor leaf = at::arange(3, at::kDouble).set_requires_grad(true);
  const at::Tensor value = leaf.mul(2);
  CatMetric cat;
  const at::Tensor result = cat.forward(value);
  result.mul(result).sum().backward();
  EXPECT_TRUE(leaf.grad().equal(at::tensor({0.0, 8.0, 16.0})));
  value.detach().zero_();
  EXPECT_TRUE(result.equal(at::tensor({0.0, 2.0, 4.0})));
}

}  // namespace
}  // namespace tally
