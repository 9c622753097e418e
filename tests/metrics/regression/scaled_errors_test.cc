#include "tally/metrics/regression/scaled_errors.h"

#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class M>
double value_of(M& metric) {
  return metric.compute().template item<double>();
}

at::Tensor row(at::ArrayRef<double> values) {
  return at::tensor(values, at::kDouble).unsqueeze(0);
}

// sktime 1.2.0 has the same values.
TEST(ScaledErrorsTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1, 2};
  testkit::check_metric<MeanAbsoluteScaledError>(MeanAbsoluteScaledError::kName,
                                                 options);
}

TEST(ComparedForecastsTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1, 2, 3};
  testkit::check_metric<OverallWeightedAverage>(OverallWeightedAverage::kName,
                                                options);
}

TEST(ScaledErrorsTest, RepeatingTheLastSeasonHasTheErrorOfTheScale) {
  // Steps of 1, 2, 3, 4: 2.5 on average; over two steps 3, 5, 7: 5.
  const at::Tensor train = row({0, 1, 3, 6, 10});
  EXPECT_EQ(seasonal_naive_scale(train).item<double>(), 2.5);
  EXPECT_EQ(seasonal_naive_scale(train.squeeze(0), 2).item<double>(), 5);
  MeanAbsoluteScaledError mase;
  mase.update(row({10, 10}), row({15, 10}), train);
  EXPECT_EQ(value_of(mase), 1);
  MeanAbsoluteScaledError seasonal(MeanAbsoluteScaledErrorOptions().season(2));
  seasonal.update(row({10, 10}), row({15, 10}), train);
  EXPECT_EQ(value_of(seasonal), 0.5);
  MeanAbsoluteScaledError given(
      MeanAbsoluteScaledErrorOptions().scale(ForecastScale::kGiven));
  given.update(row({10, 10}), row({15, 10}), at::tensor({5.0}));
  EXPECT_EQ(value_of(given), 0.5);
}

TEST(ScaledErrorsTest, SeriesOfOtherLengthsAreOtherBatches) {
  MeanAbsoluteScaledError mase;
  mase.update(row({1}), row({2}), row({0, 1}));                 // 1
  mase.update(row({1, 1, 1}), row({4, 4, 4}), row({0, 1, 2}));  // 3
  EXPECT_EQ(value_of(mase), 2);
  MeanAbsoluteScaledError none;
  EXPECT_TRUE(std::isnan(value_of(none)));
  none.update(at::rand({0, 3}), at::rand({0, 3}), at::rand({0, 5}));
  EXPECT_TRUE(std::isnan(value_of(none)));
}

TEST(ScaledErrorsTest, ConstantTrainingSeriesHaveNoScale) {
  MeanAbsoluteScaledError wrong, right;
  wrong.update(row({1}), row({2}), row({3, 3, 3}));
  EXPECT_TRUE(std::isinf(value_of(wrong)));
  right.update(row({2}), row({2}), row({3, 3, 3}));
  EXPECT_TRUE(std::isnan(value_of(right)));
}

TEST(ComparedForecastsTest, OfTheBenchmarkItselfItIsOne) {
  const at::Tensor forecasts = at::rand({4, 3}), target = at::rand({4, 3});
  OverallWeightedAverage owa;
  owa.update(forecasts, target, forecasts, at::rand({4, 9}));
  EXPECT_EQ(value_of(owa), 1);
  // MASE 1 of 2; sMAPE 2 / 3 of 1, (4 - 2) / 3 and (6 - 2) / 4.
  OverallWeightedAverage half;
  half.update(row({4}), row({2}), row({6}), row({0, 1}));
  EXPECT_DOUBLE_EQ(value_of(half), (0.5 + 2.0 / 3) / 2);
  OverallWeightedAverage zeros;
  zeros.update(row({0, 2}), row({0, 4}), row({0, 8}), row({0, 1}));
  EXPECT_DOUBLE_EQ(value_of(zeros), (0.5 + 1) / 2);
}

TEST(ScaledErrorsTest, NanPolicies) {
  const at::Tensor preds = at::tensor({1.0, kNaN, 1.0}).unsqueeze(1);
  const at::Tensor target = at::tensor({2.0, 2.0, 3.0}).unsqueeze(1);
  const at::Tensor train =
      at::tensor({0.0, 1.0, 0.0, 1.0, 0.0, kNaN}).reshape({3, 2});
  MeanAbsoluteScaledError passing;
  passing.update(preds, target, train);
  EXPECT_TRUE(std::isnan(value_of(passing)));
  MeanAbsoluteScaledError ignoring(
      {}, MetricOptions().nan_policy(NanPolicy::kIgnore));
  const at::Tensor leaf = preds.clone().requires_grad_();
  ignoring.forward(leaf, target, train).backward();
  EXPECT_EQ(value_of(ignoring), 1);
  EXPECT_TRUE(leaf.grad().squeeze(1).equal(at::tensor({-1.0, 0.0, 0.0})));
  const MetricOptions refusing = MetricOptions().nan_policy(NanPolicy::kError);
  MeanAbsoluteScaledError refused({}, refusing);
  EXPECT_THAT(refusal_of([&] { refused.update(preds, target, train); }),
              HasSubstr("expected preds without NaN, got one in series 1"));
  EXPECT_THAT(refusal_of([&] { refused.update(target, target, train); }),
              HasSubstr("expected train without NaN, got one in series 2"));
  OverallWeightedAverage owa({}, refusing);
  EXPECT_THAT(refusal_of([&] { owa.update(target, target, preds, target); }),
              HasSubstr("season=1"));
  EXPECT_THAT(refusal_of([&] { owa.update(target, target, preds, train); }),
              HasSubstr("expected benchmark without NaN, got one in series 1"));
}

TEST(ScaledErrorsTest, RefusesWhatItCannotRead) {
  EXPECT_THAT(refusal_of([] {
                MeanAbsoluteScaledError metric(
                    MeanAbsoluteScaledErrorOptions().season(0));
              }),
              HasSubstr("expected season to be at least 1, got 0"));
  MeanAbsoluteScaledError mase(MeanAbsoluteScaledErrorOptions().season(4));
  const at::Tensor y = at::rand({2, 3});
  EXPECT_THAT(refusal_of([&] {
                mase.update(y, y, at::rand({2, 4}));
              }),
              HasSubstr("expected train of shape [2, T], the series before "
                        "target, with T above season=4, got [2, 4]"));
  EXPECT_THAT(refusal_of([&] {
                mase.update(y, y, at::rand({3, 9}));
              }),
              HasSubstr("expected train of shape [2, T]"));
  EXPECT_THAT(refusal_of([&] { mase.update(y, y, at::rand({2})); }),
              HasSubstr("expected train of shape [2, T]"));
  EXPECT_THAT(
      refusal_of([&] {
        mase.update(y[0], y[0], at::rand({1, 9}));
      }),
      HasSubstr("expected preds and target of shape [N, H], a row for each "
                "series, got [3]"));
  EXPECT_THAT(refusal_of([&] {
                mase.update(y, at::rand({2, 2}), at::rand({2, 9}));
              }),
              HasSubstr("preds"));
  MeanAbsoluteScaledError given(
      MeanAbsoluteScaledErrorOptions().scale(ForecastScale::kGiven));
  EXPECT_THAT(refusal_of([&] {
                given.update(y, y, at::rand({2, 9}));
              }),
              HasSubstr("expected train of shape [2], the scale of each "
                        "series, got [2, 9]"));
  EXPECT_THAT(refusal_of([&] {
                given.update(y, y, at::tensor({1.0, -2.0}));
              }),
              HasSubstr("expected scales of at least 0, got -2 at position 1"));
  EXPECT_EQ(given.update_count(), 0);
  EXPECT_THAT(refusal_of([&] { seasonal_naive_scale(at::rand({3}), 3); }),
              HasSubstr("T above season=3, got [3]"));
  EXPECT_THAT(refusal_of([&] { seasonal_naive_scale(at::rand({3}), 0); }),
              HasSubstr("expected season to be at least 1, got 0"));
}

}  // namespace
}  // namespace tally
