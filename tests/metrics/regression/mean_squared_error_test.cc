#include "tally/metrics/regression/mean_squared_error.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::refusal_of_update;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

MeanSquaredErrorOptions outputs(std::int64_t count) {
  return MeanSquaredErrorOptions().num_outputs(count);
}

TEST(MeanSquaredErrorTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  testkit::check_metric<MeanSquaredError>("MeanSquaredError", options);
}

TEST(MeanSquaredErrorTest, AveragesOverAllUpdates) {
  MeanSquaredError mse;
  mse.update(at::tensor({1.0f, 2.0f}), at::tensor({1.0f, 4.0f}));
  mse.update(at::tensor({0.0f}), at::tensor({1.0f}));
  EXPECT_DOUBLE_EQ(mse.compute().item<double>(), 5.0 / 3);
  EXPECT_EQ(mse.higher_is_better(), false);
}

TEST(MeanSquaredErrorTest, IsNanBeforeAnyUpdate) {
  MeanSquaredError mse;
  EXPECT_TRUE(std::isnan(mse.compute().item<double>()));
  MeanSquaredError several(outputs(2));
  const at::Tensor value = several.compute();
  EXPECT_EQ(value.sizes(), at::IntArrayRef{2});
  EXPECT_TRUE(value.isnan().all().item<bool>());
}

TEST(MeanSquaredErrorTest, RootSharesTheState) {
  MeanSquaredError root(MeanSquaredErrorOptions().squared(false));
  EXPECT_EQ(root.state_key(), MeanSquaredError().state_key());
  EXPECT_NE(root.state_key(), MeanSquaredError(outputs(2)).state_key());
  root.update(at::tensor({3.0, 4.0}), at::zeros({2}));
  EXPECT_DOUBLE_EQ(root.compute().item<double>(), std::sqrt(12.5));
}

TEST(MeanSquaredErrorTest, NoDtypeWraps) {
  for (const at::ScalarType dtype : {at::kByte, at::kUInt16}) {
    MeanSquaredError mse;
    mse.update(at::zeros({3}, at::kInt).to(dtype),
               at::ones({3}, at::kInt).to(dtype));
    EXPECT_EQ(mse.compute().item<double>(), 1) << dtype;
  }
  const auto most = std::numeric_limits<std::int64_t>::max();
  MeanSquaredError mse;
  mse.update(at::tensor({most}), at::tensor({-most}));
  EXPECT_DOUBLE_EQ(mse.compute().item<double>(), std::ldexp(1.0, 128));
}

TEST(MeanSquaredErrorTest, TakesInputsOfTwoDtypes) {
  MeanSquaredError mse;
  mse.update(at::tensor({0.5f, 2.0f}), at::tensor({1, 1}));
  EXPECT_EQ(mse.compute().item<double>(), 0.625);
  mse.reset();
  mse.update(at::ones({2}, at::kHalf), at::zeros({2}, at::kBool));
  EXPECT_EQ(mse.compute().item<double>(), 1);
}

TEST(MeanSquaredErrorTest, RefusesInputsThatDoNotFit) {
  MeanSquaredError mse;
  EXPECT_THAT(refusal_of_update<c10::Error>(mse, at::ones({2}), at::ones({3})),
              HasSubstr("expected preds and target of the same shape, got [2] "
                        "and [3]"));
  EXPECT_THAT(refusal_of_update<c10::Error>(
                  mse, at::ones({2}, at::kComplexFloat), at::ones({2})),
              HasSubstr("expected preds of a real dtype, got ComplexFloat"));
  EXPECT_THAT(refusal_of_update<c10::Error>(mse, at::ones({2}),
                                            at::ones({2}).to_sparse()),
              HasSubstr("expected target to be a dense tensor"));
  EXPECT_THAT(refusal_of_update<c10::Error>(mse, at::ones({2}), at::Tensor()),
              HasSubstr("expected a tensor as target"));
  MeanSquaredError several(outputs(3));
  for (const at::Tensor& input : {at::ones({3}), at::ones({3, 2})}) {
    EXPECT_THAT(refusal_of_update<c10::Error>(several, input, input),
                HasSubstr("expected preds and target of shape [N, 3], got ["));
  }
  EXPECT_EQ(mse.update_count() + several.update_count(), 0);
}

TEST(MeanSquaredErrorTest, RefusesToHaveNoOutput) {
  try {
    MeanSquaredError mse(outputs(0));
    FAIL() << "no output was accepted";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(),
                HasSubstr("MeanSquaredError: expected num_outputs of at least "
                          "1, got 0"));
  }
}

TEST(MeanSquaredErrorTest, NanGoesByThePolicy) {
  const at::Tensor preds = at::tensor({1.0, kNaN, 3.0, 4.0});
  const at::Tensor target = at::tensor({0.0, 0.0, kNaN, 1.0});
  MeanSquaredError passing;
  passing.update(preds, target);
  EXPECT_TRUE(std::isnan(passing.compute().item<double>()));
  const auto ignore = MetricOptions().nan_policy(NanPolicy::kIgnore);
  MeanSquaredError ignoring({}, ignore);
  ignoring.update(preds.reshape({2, 2}), target.reshape({2, 2}));
  EXPECT_EQ(ignoring.compute().item<double>(), 5);
  MeanSquaredError refusing({}, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(refusal_of_update<c10::Error>(refusing, preds, at::ones({4})),
              HasSubstr("expected preds without NaN, got some"));
  EXPECT_THAT(refusal_of_update<c10::Error>(refusing, at::ones({4}), target),
              HasSubstr("expected target without NaN, got some"));
  EXPECT_EQ(
      refusal_of_update<c10::Error>(refusing, at::ones({4}), at::ones({4})),
      "nothing");
}

TEST(MeanSquaredErrorTest, NanOfOneOutputLeavesItsRowOut) {
  const at::Tensor preds = at::tensor({1.0, 2.0, kNaN, 9.0}).reshape({2, 2});
  const at::Tensor target = at::zeros({2, 2});
  MeanSquaredError passing(outputs(2));
  passing.update(preds, target);
  EXPECT_TRUE(std::isnan(passing.compute()[0].item<double>()));
  EXPECT_EQ(passing.compute()[1].item<double>(), 42.5);
  MeanSquaredError ignoring(outputs(2),
                            MetricOptions().nan_policy(NanPolicy::kIgnore));
  ignoring.update(preds, target);
  EXPECT_TRUE(ignoring.compute().equal(at::tensor({1.0, 4.0})));
}

TEST(MeanSquaredErrorTest, InfinitiesAreNotNan) {
  const double infinity = std::numeric_limits<double>::infinity();
  MeanSquaredError mse({}, MetricOptions().nan_policy(NanPolicy::kError));
  mse.update(at::tensor({infinity}), at::tensor({1.0}));
  EXPECT_EQ(mse.compute().item<double>(), infinity);
  mse.update(at::tensor({infinity}), at::tensor({infinity}));
  EXPECT_TRUE(std::isnan(mse.compute().item<double>()));
}

TEST(MeanSquaredErrorTest, SameWithAndWithoutAGraph) {
  const at::Tensor preds = at::arange(1200, at::kFloat).sin().reshape({400, 3});
  const at::Tensor target = at::arange(1200).reshape({400, 3}).fmod(5);
  for (const std::int64_t count : {1, 3}) {
    MeanSquaredError mse(outputs(count));
    const at::Tensor plain = mse.forward(preds, target);
    const at::Tensor recorded =
        mse.forward(preds.clone().set_requires_grad(true), target);
    EXPECT_TRUE(recorded.requires_grad());
    EXPECT_TRUE(plain.allclose(recorded, 1e-13, 0));
  }
}

TEST(MeanSquaredErrorTest, GradientOfIgnoredSamplesIsZero) {
  const at::Tensor preds = at::tensor({1.0, kNaN, 3.0}).set_requires_grad(true);
  MeanSquaredError mse({}, MetricOptions().nan_policy(NanPolicy::kIgnore));
  mse.forward(preds, at::zeros({3})).backward();
  EXPECT_TRUE(preds.grad().equal(at::tensor({1.0, 0.0, 3.0})));
}

TEST(MeanSquaredErrorTest, GradientOfTheRootIsZeroWhereTheErrorIs) {
  const at::Tensor preds =
      at::ones({2, 2}, at::kDouble).set_requires_grad(true);
  const at::Tensor target = at::tensor({1, 0, 1, 1}).reshape({2, 2});
  MeanSquaredError root(outputs(2).squared(false));
  root.forward(preds, target).sum().backward();
  EXPECT_TRUE(preds.grad().allclose(
      at::tensor({0.0, std::sqrt(0.5), 0.0, 0.0}).reshape({2, 2})));
  preds.mutable_grad().reset();
  MeanSquaredError one(MeanSquaredErrorOptions().squared(false));
  one.forward(preds, at::ones({2, 2})).backward();
  EXPECT_TRUE(preds.grad().equal(at::zeros({2, 2}, at::kDouble)));
}

}  // namespace
}  // namespace tally
