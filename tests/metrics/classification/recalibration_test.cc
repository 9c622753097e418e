#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/classification/calibration_slope.h"
#include "tally/metrics/classification/spiegelhalter_z.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double logit(double p) { return std::log(p / (1 - p)); }

BinaryRecalibrationOptions of_logits() {
  return BinaryRecalibrationOptions().from_logits();
}

/// `positives` of `n` targets are 1.
at::Tensor targets(std::int64_t positives, std::int64_t n) {
  return at::cat({at::full({positives}, 1, at::kLong),
                  at::zeros({n - positives}, at::kLong)});
}

/// Of two groups with the same score in each.
template <class M>
double of_groups(M metric, double score, std::int64_t positives, std::int64_t n,
                 double other, std::int64_t other_positives,
                 std::int64_t other_n) {
  metric.update(at::full({n}, score, at::kDouble), targets(positives, n));
  metric.update(at::full({other_n}, other, at::kDouble),
                targets(other_positives, other_n));
  return metric.number();
}

template <class M>
double value_of_rows(const at::Tensor& preds, const at::Tensor& target,
                     const at::Tensor& weight = {}) {
  M metric;
  metric.update(preds, target, weight);
  return metric.number();
}

TEST(RecalibrationTest, PassesTheHarness) {
  testkit::check_metric<BinaryCalibrationSlope>("BinaryCalibrationSlope");
  testkit::check_metric<BinaryCalibrationIntercept>(
      "BinaryCalibrationIntercept");
  testkit::check_metric<BinarySpiegelhalterZ>("BinarySpiegelhalterZ");
}

TEST(RecalibrationTest, FitsTheRatesOfTwoGroups) {
  // With two scores, the line goes through the logits of both rates.
  EXPECT_NEAR(of_groups(BinaryCalibrationSlope(), 0.2, 4, 10, 0.8, 5, 10),
              (logit(0.5) - logit(0.4)) / (logit(0.8) - logit(0.2)), 1e-12);
  EXPECT_NEAR(of_groups(BinaryCalibrationSlope(of_logits()), -30, 1, 1000, 30,
                        999, 1000),
              logit(0.999) / 30, 1e-12);
  EXPECT_NEAR(of_groups(BinaryCalibrationSlope(of_logits()), -1e-3, 900, 1000,
                        1e-3, 100, 1000),
              logit(0.1) / 1e-3, 1e-8);
  // Probabilities that are right.
  EXPECT_NEAR(of_groups(BinaryCalibrationSlope(), 0.25, 1, 4, 0.75, 3, 4), 1,
              1e-12);
  EXPECT_NEAR(of_groups(BinaryCalibrationIntercept(), 0.25, 1, 4, 0.75, 3, 4),
              0, 1e-12);
}

TEST(RecalibrationTest, ShiftsLogitsToTheRate) {
  EXPECT_NEAR(value_of_rows<BinaryCalibrationIntercept>(
                  at::full({6}, 0.25, at::kDouble), targets(3, 6)),
              std::log(3), 1e-12);
  // Far from where Newton's method alone would find it.
  for (const double far : {-30., 30., -800., 800.}) {
    EXPECT_NEAR(of_groups(BinaryCalibrationIntercept(of_logits()), far, 1, 2,
                          far, 2, 4),
                -far, 1e-9);
  }
}

TEST(RecalibrationTest, IsTheSameInAnyOrder) {
  const at::Tensor preds = at::rand({200}, at::kDouble);
  const at::Tensor target = at::rand({200}).lt(preds).to(at::kLong);
  const at::Tensor weight = at::randint(1, 4, {200}, at::kDouble).div(4);
  const at::Tensor order = at::randperm(200);
  const auto in_order = [&](const at::Tensor& tensor) {
    return tensor.index_select(0, order);
  };
  EXPECT_EQ(value_of_rows<BinaryCalibrationSlope>(preds, target, weight),
            value_of_rows<BinaryCalibrationSlope>(
                in_order(preds), in_order(target), in_order(weight)));
  // A row of weight 2 is two rows.
  const at::Tensor some = targets(0, 200).add(at::randint(1, 3, {200}));
  EXPECT_NEAR(
      value_of_rows<BinaryCalibrationSlope>(preds, target, some),
      value_of_rows<BinaryCalibrationSlope>(preds.repeat_interleave(some),
                                            target.repeat_interleave(some)),
      1e-12);
}

TEST(RecalibrationTest, IsNanWithoutAMaximum) {
  const at::Tensor preds = at::tensor({0.1, 0.4, 0.4, 0.9}, at::kDouble);
  const auto slope = [&](at::IntArrayRef target) {
    return value_of_rows<BinaryCalibrationSlope>(preds, at::tensor(target));
  };
  EXPECT_TRUE(std::isnan(BinaryCalibrationSlope().number()));
  EXPECT_TRUE(std::isnan(BinaryCalibrationIntercept().number()));
  for (const std::vector<std::int64_t>& target :
       {std::vector<std::int64_t>{0, 0, 0, 0},
        {1, 1, 1, 1},
        {0, 0, 0, 1},
        {1, 0, 0, 0},
        {0, 1, 0, 1},
        {1, 1, 0, 0}}) {
    EXPECT_TRUE(std::isnan(slope(target))) << ::testing::PrintToString(target);
  }
  EXPECT_FALSE(std::isnan(slope({1, 0, 0, 1})));
  EXPECT_TRUE(std::isnan(value_of_rows<BinaryCalibrationIntercept>(
      preds, at::zeros({4}, at::kLong))));
  EXPECT_TRUE(std::isnan(of_groups(BinaryCalibrationIntercept(of_logits()),
                                   kInfinity, 1, 2, 0, 1, 2)));
}

TEST(RecalibrationTest, ClipsProbabilities) {
  const double eps = std::numeric_limits<double>::epsilon();
  EXPECT_NEAR(of_groups(BinaryCalibrationSlope(), 0, 1, 4, 1, 3, 4),
              logit(0.75) / (std::log1p(-eps) - std::log(eps)), 1e-12);
}

TEST(RecalibrationTest, LeavesOutWhatHasNoWeight) {
  const at::Tensor preds = at::tensor({0.2, 0.6, 0.3, kNaN}, at::kDouble);
  const at::Tensor target = at::tensor({0, 1, 1, 1});
  const at::Tensor weight = at::tensor({1., 1., 0., 0.});
  EXPECT_TRUE(
      std::isnan(value_of_rows<BinaryCalibrationSlope>(preds, target, weight)));
  EXPECT_EQ(value_of_rows<BinaryCalibrationIntercept>(preds, target, weight),
            value_of_rows<BinaryCalibrationIntercept>(preds.narrow(0, 0, 2),
                                                      target.narrow(0, 0, 2)));
}

TEST(RecalibrationTest, KeepsTheSameWhereNoLoopCanRead) {
  const auto strided = [](const at::Tensor& tensor) {
    return tensor.unsqueeze(-1).expand({-1, 2}).clone().select(1, 0);
  };
  const at::Tensor target = at::randint(-1, 2, {60}, at::kLong);
  const at::Tensor weight = at::randint(0, 3, {60}, at::kDouble)
                                .masked_fill(at::rand({60}).lt(0.1), kNaN);
  for (const bool logits : {false, true}) {
    at::Tensor preds =
        logits ? at::randn({60}, at::kDouble) : at::rand({60}, at::kDouble);
    preds = preds.masked_fill(at::rand({60}).lt(0.1), kNaN);
    for (const NanPolicy policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
      const auto options = BinaryRecalibrationOptions().ignore_index(-1).input(
          logits ? ScoreKind::kLogits : ScoreKind::kProbabilities);
      BinaryCalibrationSlope loop(options, MetricOptions().nan_policy(policy));
      BinaryCalibrationSlope tensors(options,
                                     MetricOptions().nan_policy(policy));
      loop.update(preds, target, weight);
      tensors.update(strided(preds), target, weight);
      EXPECT_TRUE(testkit::near(tensors.state(), loop.state(), {1e-12, 1e-14}));
      EXPECT_TRUE(testkit::near(tensors.compute(), loop.compute(), {1e-9, 0}));
      EXPECT_EQ(std::isnan(loop.number()), policy == NanPolicy::kPropagate);
    }
  }
}

TEST(RecalibrationTest, RefusesBadInput) {
  const at::Tensor target = at::tensor({0, 1});
  const at::Tensor preds = at::tensor({0.2, 0.8});
  EXPECT_THAT(
      refusal_of([&] {
        BinaryCalibrationSlope().update(preds, target, at::tensor({1., -2.}));
      }),
      HasSubstr("expected weight of at least 0, got -2"));
  EXPECT_THAT(refusal_of([&] {
                BinaryCalibrationIntercept().update(preds.mul(2), target);
              }),
              HasSubstr("BinaryCalibrationIntercept"));
  EXPECT_THAT(refusal_of<c10::IndexError>([&] {
                BinaryCalibrationSlope().update(preds, target.mul(2));
              }),
              HasSubstr("got 2"));
  EXPECT_THAT(refusal_of([&] {
                BinaryCalibrationSlope slope(
                    {}, MetricOptions().nan_policy(NanPolicy::kError));
                slope.update(preds.mul(kNaN), target);
              }),
              HasSubstr("NaN"));
  EXPECT_THAT(refusal_of([] {
                BinaryCalibrationSlope(
                    BinaryRecalibrationOptions().input(ScoreKind::kScores));
              }),
              HasSubstr("BinaryCalibrationSlope"));
}

TEST(SpiegelhalterZTest, IsTheExcessOverItsDeviation) {
  // By hand: (0.2 * -0.6 + -0.8 * -0.6) / sqrt(2 * 0.36 * 0.16).
  const at::Tensor preds = at::tensor({0.8, 0.8}, at::kDouble);
  const at::Tensor target = at::tensor({1, 0});
  EXPECT_NEAR(value_of_rows<BinarySpiegelhalterZ>(preds, target),
              0.36 / std::sqrt(0.1152), 1e-12);
  // -0.24 / sqrt(4 * 0.0576).
  EXPECT_NEAR(
      value_of_rows<BinarySpiegelhalterZ>(preds, target, at::tensor({2., 0.})),
      -0.5, 1e-12);
}

TEST(SpiegelhalterZTest, OfCertainPredictions) {
  const at::Tensor one = at::tensor({1.0});
  EXPECT_TRUE(
      std::isnan(value_of_rows<BinarySpiegelhalterZ>(one, at::tensor({1}))));
  EXPECT_EQ(value_of_rows<BinarySpiegelhalterZ>(one, at::tensor({0})),
            kInfinity);
  EXPECT_TRUE(std::isnan(BinarySpiegelhalterZ().number()));
}

TEST(SpiegelhalterZTest, RefusesBadInput) {
  EXPECT_THAT(refusal_of([] {
                BinarySpiegelhalterZ().update(at::tensor({1.5}),
                                              at::tensor({1}));
              }),
              HasSubstr("1.5"));
  EXPECT_THAT(refusal_of<c10::IndexError>([] {
                BinarySpiegelhalterZ().update(at::tensor({0.5}),
                                              at::tensor({3}));
              }),
              HasSubstr("got 3"));
}

}  // namespace
}  // namespace tally
