#include "tally/metrics/classification/multilabel_ranking.h"

#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testkit::check_metric;

TEST(MultilabelRankingTest, PassesTheHarness) {
  check_metric<MultilabelCoverageError>("MultilabelCoverageError");
  check_metric<MultilabelRankingAveragePrecision>(
      "MultilabelRankingAveragePrecision");
  check_metric<MultilabelRankingLoss>("MultilabelRankingLoss");
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class M>
double value_of(const at::Tensor& preds, const at::Tensor& target,
                const MultilabelRankingOptions& options,
                const MetricOptions& metric_options = {}) {
  M metric(options, metric_options);
  metric.update(preds, target);
  return metric.compute().template item<double>();
}

template <class Error>
std::string refusal(const at::Tensor& preds, const at::Tensor& target,
                    const at::Tensor& weight = {},
                    const MetricOptions& options = {}) {
  MultilabelRankingLoss metric(3, options);
  return testkit::refusal_of_update<Error>(metric, preds, target, weight);
}

TEST(MultilabelRankingTest, CountsTiesAgainstTheRanking) {
  const at::Tensor preds = at::tensor({0.5f, 0.5f, 0.2f}).view({1, 3});
  const at::Tensor target = at::tensor({1, 0, 0}).view({1, 3});
  EXPECT_EQ(value_of<MultilabelCoverageError>(preds, target, 3), 2);
  EXPECT_EQ(value_of<MultilabelRankingAveragePrecision>(preds, target, 3), 0.5);
  EXPECT_EQ(value_of<MultilabelRankingLoss>(preds, target, 3), 0.5);
}

TEST(MultilabelRankingTest, IsNanWithoutData) {
  MultilabelCoverageError coverage(3);
  EXPECT_TRUE(coverage.compute().isnan().item<bool>());
  coverage.update(at::rand({0, 3}), at::zeros({0, 3}, at::kLong));
  EXPECT_TRUE(coverage.compute().isnan().item<bool>());
  coverage.update(at::rand({2, 3}), at::zeros({2, 3}, at::kLong),
                  at::zeros({2}));
  EXPECT_TRUE(coverage.compute().isnan().item<bool>());
}

TEST(MultilabelRankingTest, FollowsTheNanPolicy) {
  const at::Tensor preds =
      at::tensor({0.9f, 0.5f, 0.2f, kNaN, 0.5f, 0.2f}).view({2, 3});
  const at::Tensor target = at::tensor({1, 0, 0, 0, 0, 0}).view({2, 3});
  EXPECT_TRUE(std::isnan(value_of<MultilabelRankingLoss>(preds, target, 3)));
  EXPECT_EQ(
      value_of<MultilabelCoverageError>(
          preds, target, 3, MetricOptions().nan_policy(NanPolicy::kIgnore)),
      1);
  EXPECT_THAT(
      refusal<c10::ValueError>(preds, target, {},
                               MetricOptions().nan_policy(NanPolicy::kError)),
      HasSubstr("expected preds without NaN, got NaN at position 3"));
  // Labels that are ignored may hold any score.
  at::Tensor ignored = target.clone();
  ignored.select(0, 1).select(0, 0).fill_(-1);
  EXPECT_EQ(value_of<MultilabelRankingLoss>(
                preds, ignored, MultilabelRankingOptions(3).ignore_index(-1)),
            0);
}

// Some samples have more positives than are counted, which are sorted then.
TEST(MultilabelRankingTest, RepeatedLabelsChangeNoRatio) {
  constexpr std::int64_t kTimes = 200;
  const at::Tensor preds = at::randint(0, 9, {20, 5}).div(8);
  const at::Tensor target = at::randint(0, 2, {20, 5}, at::kLong);
  const at::Tensor many_preds = preds.repeat({1, kTimes});
  const at::Tensor many = target.repeat({1, kTimes});
  EXPECT_EQ(value_of<MultilabelCoverageError>(many_preds, many, 5 * kTimes),
            kTimes * value_of<MultilabelCoverageError>(preds, target, 5));
  EXPECT_NEAR(
      value_of<MultilabelRankingAveragePrecision>(many_preds, many, 5 * kTimes),
      value_of<MultilabelRankingAveragePrecision>(preds, target, 5), 1e-12);
  EXPECT_NEAR(value_of<MultilabelRankingLoss>(many_preds, many, 5 * kTimes),
              value_of<MultilabelRankingLoss>(preds, target, 5), 1e-12);
}

TEST(MultilabelRankingTest, TakesEveryDtypeAndStride) {
  const at::Tensor preds = at::randint(0, 9, {20, 5}).div(8);
  const at::Tensor target = at::randint(0, 2, {20, 5}, at::kLong);
  const double expected = value_of<MultilabelRankingLoss>(preds, target, 5);
  EXPECT_EQ(value_of<MultilabelRankingLoss>(preds.t().contiguous().t(),
                                            target.t().contiguous().t(), 5),
            expected);
  for (const auto dtype : {at::kDouble, at::kHalf, at::kBFloat16}) {
    EXPECT_EQ(value_of<MultilabelRankingLoss>(preds.to(dtype), target, 5),
              expected);
  }
  for (const auto dtype : {at::kBool, at::kByte, at::kInt}) {
    EXPECT_EQ(value_of<MultilabelRankingLoss>(preds, target.to(dtype), 5),
              expected);
  }
}

TEST(MultilabelRankingTest, RefusesOtherInputs) {
  const at::Tensor preds = at::rand({2, 3});
  const at::Tensor target = at::zeros({2, 3}, at::kLong);
  EXPECT_THAT(
      refusal<c10::ValueError>(at::rand({2, 4}), at::zeros({2, 4}, at::kLong)),
      AllOf(HasSubstr("MultilabelRankingLoss"),
            HasSubstr("expected preds and target [N, 3, ...], got "
                      "sizes [2, 4]")));
  EXPECT_THAT(
      refusal<c10::ValueError>(at::rand({3}), at::zeros({3}, at::kLong)),
      HasSubstr("expected preds and target [N, 3, ...]"));
  EXPECT_THAT(refusal<c10::TypeError>(target, target),
              HasSubstr("expected preds of a floating-point dtype"));
  EXPECT_THAT(refusal<c10::IndexError>(preds, target.add(2)),
              HasSubstr("expected target in [0, 2), got 2 at position 0"));
  EXPECT_THAT(refusal<c10::ValueError>(preds, target, at::rand({3})),
              HasSubstr("expected weight of sizes [2], got [3]"));
  EXPECT_THAT(refusal<c10::ValueError>(preds, target, at::tensor({1.0, -1.0})),
              HasSubstr("expected weight to be finite and not negative, got "
                        "-1 at position 1"));
  EXPECT_THROW(MultilabelRankingLoss(0), c10::ValueError);
}

TEST(MultilabelRankingTest, SharesOneState) {
  EXPECT_EQ(MultilabelRankingLoss(3).state_key(),
            MultilabelCoverageError(3).state_key());
  EXPECT_EQ(MultilabelRankingLoss(3).state_key(),
            MultilabelRankingAveragePrecision(3).state_key());
}

}  // namespace
}  // namespace tally
