#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/regression/max_error.h"
#include "tally/metrics/regression/mean_absolute_error.h"
#include "tally/metrics/regression/mean_pinball_loss.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/mean_squared_log_error.h"
#include "tally/metrics/regression/minkowski_distance.h"
#include "tally/metrics/regression/percentage_errors.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class M>
double value_of(M& metric) {
  return metric.compute().template item<double>();
}

// Positive, more than one block of them.
at::Tensor wave(std::int64_t count, double phase) {
  return at::arange(count, at::kDouble).mul(0.37).add(phase).sin().add(1.5);
}

template <class M>
void check(testkit::HarnessOptions options = {}) {
  options.differentiable_inputs = {0, 1};
  // Errors of 0 are kinks.
  options.skip_gradients.insert({"equal", "int64", "uint8", "zero_targets",
                                 "zeros", "zero_targets_scikit_epsilon"});
  testkit::check_metric<M>(M::kName, options);
}

TEST(ErrorAveragesTest, AbsoluteErrorPassesTheHarness) {
  check<MeanAbsoluteError>();
}
TEST(ErrorAveragesTest, LogCoshPassesTheHarness) { check<LogCoshError>(); }
TEST(ErrorAveragesTest, SquaredLogErrorPassesTheHarness) {
  check<MeanSquaredLogError>();
}
TEST(ErrorAveragesTest, PercentageErrorPassesTheHarness) {
  testkit::HarnessOptions options;
  // Too curved near targets of 0 for numerical differences.
  options.skip_gradients = {"weight_outputs", "signs"};
  check<MeanAbsolutePercentageError>(options);
}
TEST(ErrorAveragesTest, SymmetricPercentageErrorPassesTheHarness) {
  check<SymmetricMeanAbsolutePercentageError>();
}
TEST(ErrorAveragesTest, WeightedPercentageErrorPassesTheHarness) {
  check<WeightedMeanAbsolutePercentageError>();
}
TEST(ErrorAveragesTest, MinkowskiPassesTheHarness) {
  check<MinkowskiDistance>();
}
TEST(ErrorAveragesTest, PinballPassesTheHarness) { check<MeanPinballLoss>(); }
TEST(ErrorAveragesTest, MaxErrorPassesTheHarness) {
  testkit::check_metric<MaxError>("MaxError");
}

template <class M>
void expect_same_with_a_graph(typename M::Options options = {}) {
  const at::Tensor preds = wave(70'000, 0);
  const at::Tensor target = wave(70'000, 2);
  const at::Tensor weight = wave(70'000, 1).to(at::kFloat);
  M metric(options);
  for (const bool weighted : {false, true}) {
    const at::Tensor w = weighted ? weight : at::Tensor();
    const at::Tensor plain = metric.forward(preds, target, w);
    const at::Tensor recorded =
        metric.forward(preds.clone().set_requires_grad(true), target, w);
    EXPECT_TRUE(recorded.requires_grad());
    EXPECT_TRUE(plain.allclose(recorded, 1e-12, 0)) << M::kName << weighted;
  }
}

TEST(ErrorAveragesTest, SameWithAndWithoutAGraph) {
  expect_same_with_a_graph<MeanSquaredError>();
  expect_same_with_a_graph<MeanAbsoluteError>();
  expect_same_with_a_graph<LogCoshError>();
  expect_same_with_a_graph<MeanSquaredLogError>();
  expect_same_with_a_graph<MeanAbsolutePercentageError>();
  expect_same_with_a_graph<SymmetricMeanAbsolutePercentageError>();
  expect_same_with_a_graph<WeightedMeanAbsolutePercentageError>();
  for (const double p : {1.0, 2.5, 3.0, 8.0, 9.0}) {
    expect_same_with_a_graph<MinkowskiDistance>(p);
  }
  expect_same_with_a_graph<MeanPinballLoss>(0.7);
}

TEST(ErrorAveragesTest, LargeOutputsAreAddedUpInDouble) {
  const at::Tensor preds = at::full({1 << 20, 2}, 0.1f);
  MeanAbsoluteError mae(2);
  mae.update(preds, at::zeros({1 << 20, 2}));
  EXPECT_NEAR(mae.compute()[1].item<double>(), 0.1f, 1e-12);
}

// 2^24 + 1 is no float32.
TEST(ErrorAveragesTest, CountersGoOnPastTwoToThe24) {
  const at::Tensor ones = at::ones({1 << 22});
  const at::Tensor zeros = at::zeros({1 << 22});
  MeanAbsolutePercentageError mape;
  for (int i = 0; i < 4; ++i) mape.update(zeros, ones);
  mape.update(at::tensor({1.0f}), at::tensor({1.0f}));
  EXPECT_DOUBLE_EQ(value_of(mape), 16777216.0 / 16777217.0);
  EXPECT_EQ(mape.state()["weight"].item<double>(), 16777217.0);
}

TEST(ErrorAveragesTest, NoDtypeWraps) {
  const at::Tensor one = at::ones({3}, at::kByte);
  const at::Tensor two = at::full({3}, 2, at::kByte);
  MeanAbsoluteError mae;
  mae.update(one, two);
  EXPECT_EQ(value_of(mae), 1);
  MaxError worst;
  worst.update(one, two);
  EXPECT_EQ(value_of(worst), 1);
}

TEST(ErrorAveragesTest, UndefinedBeforeAnyUpdate) {
  MeanAbsoluteError mae;
  EXPECT_TRUE(std::isnan(value_of(mae)));
  mae.update(at::ones({0}), at::ones({0}));
  EXPECT_TRUE(std::isnan(value_of(mae)));
  MeanPinballLoss several(MeanPinballLossOptions(0.5).num_outputs(2));
  EXPECT_EQ(several.compute().sizes(), at::IntArrayRef{2});
  EXPECT_TRUE(several.compute().isnan().all().item<bool>());
  MaxError worst;
  EXPECT_TRUE(std::isnan(value_of(worst)));
  worst.update(at::ones({0}), at::ones({0}));
  EXPECT_TRUE(std::isnan(value_of(worst)));
  MinkowskiDistance distance(2);
  EXPECT_TRUE(std::isnan(value_of(distance)));
  WeightedMeanAbsolutePercentageError wmape;
  EXPECT_TRUE(std::isnan(value_of(wmape)));
}

TEST(ErrorAveragesTest, WeightsOfZeroAreNoSamples) {
  MeanAbsoluteError mae;
  mae.update(at::ones({2}), at::zeros({2}), at::zeros({2}));
  EXPECT_TRUE(std::isnan(value_of(mae)));
  mae.update(at::tensor({5.0, 1.0}), at::zeros({2}), at::tensor({0, 2}));
  EXPECT_EQ(value_of(mae), 1);
}

TEST(ErrorAveragesTest, BatchesWithAndWithoutWeightsMix) {
  MeanAbsoluteError mae;
  mae.update(at::tensor({1.0}), at::tensor({0.0}));
  mae.update(at::tensor({5.0}), at::tensor({0.0}), at::tensor({3.0}));
  EXPECT_EQ(value_of(mae), 4);
}

TEST(ErrorAveragesTest, WeightsAreNotLearned) {
  const at::Tensor weight = at::ones({2}).set_requires_grad(true);
  const at::Tensor preds = at::tensor({1.0, 2.0}).set_requires_grad(true);
  MeanAbsoluteError mae;
  mae.forward(preds, at::zeros({2}), weight).backward();
  EXPECT_TRUE(preds.grad().defined());
  EXPECT_FALSE(weight.grad().defined());
}

TEST(ErrorAveragesTest, RefusesWeightsThatDoNotFit) {
  MeanAbsoluteError mae;
  const at::Tensor ones = at::ones({4});
  const auto update = [&](const at::Tensor& weight) {
    return refusal_of<c10::Error>([&] { mae.update(ones, ones, weight); });
  };
  EXPECT_THAT(update(at::ones({3})),
              HasSubstr("expected weight of the shape of preds, got [3] for "
                        "preds of [4]"));
  EXPECT_THAT(update(at::ones({4}, at::kComplexFloat)),
              HasSubstr("expected weight of a real dtype"));
  EXPECT_THAT(update(at::tensor({1.0, 1.0, -1.0, 1.0})),
              HasSubstr("expected weight of at least 0, got -1 at position 2"));
  MeanAbsoluteError several(2);
  EXPECT_THAT(
      refusal_of<c10::Error>([&] {
        several.update(at::ones({4, 2}), at::ones({4, 2}), at::ones({4, 2}));
      }),
      HasSubstr("expected weight of [N], got [4, 2]"));
  EXPECT_EQ(mae.update_count() + several.update_count(), 0);
  MeanAbsoluteError trusting({}, MetricOptions().validate_args(false));
  trusting.update(ones, ones, at::tensor({1.0, 1.0, -1.0, 1.0}));
}

TEST(ErrorAveragesTest, RefusesOptionsThatMakeNoSense) {
  EXPECT_THAT(refusal_of<c10::Error>([] { MeanAbsoluteError mae(0); }),
              HasSubstr("MeanAbsoluteError: expected num_outputs of at least "
                        "1, got 0"));
  EXPECT_THAT(refusal_of<c10::Error>([] { MinkowskiDistance distance(0.5); }),
              HasSubstr("expected p of at least 1, got 0.5"));
  EXPECT_THAT(refusal_of<c10::Error>([] { MinkowskiDistance distance; }),
              HasSubstr("expected p of at least 1, got 0"));
  EXPECT_THAT(refusal_of<c10::Error>([] { MeanPinballLoss loss(1.5); }),
              HasSubstr("expected alpha from 0 to 1, got 1.5"));
  EXPECT_THAT(refusal_of<c10::Error>([] { MeanPinballLoss loss(kNaN); }),
              HasSubstr("expected alpha from 0 to 1, got nan"));
  EXPECT_THAT(refusal_of<c10::Error>([] {
                MeanAbsolutePercentageError mape(
                    MeanAbsolutePercentageErrorOptions().eps(0));
              }),
              HasSubstr("expected eps above 0, got 0"));
  EXPECT_THAT(refusal_of<c10::Error>([] {
                WeightedMeanAbsolutePercentageError wmape(
                    WeightedMeanAbsolutePercentageErrorOptions().eps(-1));
              }),
              HasSubstr("expected eps above 0, got -1"));
  EXPECT_THAT(
      refusal_of<c10::Error>([] {
        MeanSquaredLogError msle(MeanSquaredLogErrorOptions().num_outputs(-2));
      }),
      HasSubstr("expected num_outputs of at least 1, got -2"));
}

TEST(ErrorAveragesTest, LogarithmsNeedMoreThanMinusOne) {
  const at::Tensor low = at::tensor({0.0, -1.0});
  const at::Tensor fine = at::tensor({0.0, kNaN});
  MeanSquaredLogError msle;
  EXPECT_THAT(refusal_of<c10::Error>([&] { msle.update(low, fine); }),
              HasSubstr("expected preds and target above -1, got -1 as preds "
                        "and nan as target at position 1"));
  const char* const swapped =
      "expected preds and target above -1, got nan as preds and -1 as target "
      "at "
      "position 1";
  EXPECT_THAT(refusal_of<c10::Error>([&] { msle.update(fine, low); }),
              HasSubstr(swapped));
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                msle.forward(fine.clone().set_requires_grad(true), low);
              }),
              HasSubstr(swapped));
  EXPECT_EQ(msle.update_count(), 0);
  msle.update(fine, fine);
  EXPECT_TRUE(std::isnan(value_of(msle)));
  MeanSquaredLogError trusting({}, MetricOptions().validate_args(false));
  trusting.update(low, at::zeros({2}));
  EXPECT_EQ(value_of(trusting), kInfinity);
}

template <class M>
void expect_nan_by_policy(typename M::Options options = {}) {
  const at::Tensor preds = at::tensor({1.0, kNaN, 3.0, 4.0});
  const at::Tensor target = at::tensor({2.0, 1.0, kNaN, 4.5});
  const at::Tensor some = at::tensor({0, 3});
  M passing(options);
  passing.update(preds, target);
  EXPECT_TRUE(std::isnan(value_of(passing))) << M::kName;
  M ignoring(options, MetricOptions().nan_policy(NanPolicy::kIgnore));
  ignoring.update(preds, target);
  M clean(options);
  clean.update(preds.index_select(0, some), target.index_select(0, some));
  EXPECT_DOUBLE_EQ(value_of(ignoring), value_of(clean)) << M::kName;
  M refusing(options, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(refusal_of<c10::Error>(
                  [&] { refusing.update(preds, preds.nan_to_num(1)); }),
              HasSubstr("expected preds without NaN, got some"));
  EXPECT_EQ(refusing.update_count(), 0);
}

TEST(ErrorAveragesTest, NanGoesByThePolicy) {
  expect_nan_by_policy<MeanAbsoluteError>();
  expect_nan_by_policy<LogCoshError>();
  expect_nan_by_policy<MeanSquaredLogError>();
  expect_nan_by_policy<MeanAbsolutePercentageError>();
  expect_nan_by_policy<SymmetricMeanAbsolutePercentageError>();
  expect_nan_by_policy<WeightedMeanAbsolutePercentageError>();
  expect_nan_by_policy<MinkowskiDistance>(3);
  expect_nan_by_policy<MeanPinballLoss>(0.7);
  expect_nan_by_policy<MaxError>();
}

TEST(ErrorAveragesTest, NanWeightsGoByThePolicyToo) {
  const at::Tensor preds = at::tensor({1.0, 2.0, 4.0});
  const at::Tensor target = at::zeros({3});
  const at::Tensor weight = at::tensor({1.0, kNaN, 1.0});
  MeanAbsoluteError passing;
  passing.update(preds, target, weight);
  EXPECT_TRUE(std::isnan(value_of(passing)));
  MeanAbsoluteError ignoring({},
                             MetricOptions().nan_policy(NanPolicy::kIgnore));
  ignoring.update(preds, target, weight);
  EXPECT_EQ(value_of(ignoring), 2.5);
  MeanAbsoluteError refusing({}, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(
      refusal_of<c10::Error>([&] { refusing.update(preds, target, weight); }),
      HasSubstr("expected weight without NaN, got some"));
}

TEST(ErrorAveragesTest, SmallAndLargeErrorsKeepTheirDigits) {
  LogCoshError small;
  small.update(at::tensor({1e-6}), at::tensor({0.0}));
  EXPECT_NEAR(value_of(small), 5e-13, 1e-24);
  LogCoshError large;
  large.update(at::tensor({1e5}), at::tensor({0.0}));
  EXPECT_DOUBLE_EQ(value_of(large), 1e5 - std::log(2.0));
}

TEST(ErrorAveragesTest, MetricsOfOneErrorShareItsState) {
  EXPECT_EQ(MeanAbsolutePercentageError().state_key(),
            MeanAbsolutePercentageError().state_key());
  EXPECT_NE(MeanAbsoluteError().state_key(), LogCoshError().state_key());
  EXPECT_NE(MinkowskiDistance(2).state_key(), MinkowskiDistance(3).state_key());
  EXPECT_EQ(MeanSquaredLogError().state_key(),
            MeanSquaredLogError(MeanSquaredLogErrorOptions().squared(false))
                .state_key());
}

TEST(ErrorAveragesTest, GradientIsZeroWhereTheDistanceIs) {
  const at::Tensor preds = at::ones({3}, at::kDouble).set_requires_grad(true);
  MinkowskiDistance distance(2);
  distance.forward(preds, at::ones({3})).backward();
  EXPECT_TRUE(preds.grad().equal(at::zeros({3}, at::kDouble)));
}

}  // namespace
}  // namespace tally
