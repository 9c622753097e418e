#include "tally/metrics/classification/optimal_threshold.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/roc.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::NanSensitiveDoubleEq;
using testkit::check_metric;
using testkit::refusal_of;
using Options = BinaryOptimalThresholdOptions;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(OptimalThresholdTest, PassesTheHarness) {
  check_metric<BinaryOptimalThreshold>("BinaryOptimalThreshold");
  check_metric<MulticlassOptimalThreshold>("MulticlassOptimalThreshold");
  check_metric<MultilabelOptimalThreshold>("MultilabelOptimalThreshold");
}

// Thresholds 4, 3, 2, 1, 0: true positives 1, 1, 2, 2, 3 of 3; false positives
// 0, 1, 1, 2, 2 of 2. Scores of any kind.
const at::Tensor& preds() {
  static const at::Tensor tensor = at::tensor({4.0f, 3.0f, 2.0f, 1.0f, 0.0f});
  return tensor;
}
const at::Tensor& target() {
  static const at::Tensor tensor = at::tensor({1, 0, 1, 0, 1});
  return tensor;
}

std::vector<double> chosen(Options options, const at::Tensor& labels) {
  BinaryOptimalThreshold metric(options.input(ScoreKind::kScores));
  metric.update(preds(), labels);
  std::vector<double> values;
  for (const auto& [name, value] : metric.compute_results()) {
    values.push_back(value.item<double>());
  }
  return values;
}

auto is(double threshold, double criterion, double precision, double recall,
        double specificity) {
  return ElementsAre(
      NanSensitiveDoubleEq(threshold), NanSensitiveDoubleEq(criterion),
      NanSensitiveDoubleEq(precision), NanSensitiveDoubleEq(recall),
      NanSensitiveDoubleEq(specificity));
}

TEST(OptimalThresholdTest, IsTheBestByEachCriterion) {
  EXPECT_THAT(chosen(Options(), target()), is(0, 0.75, 0.6, 1, 0));
  EXPECT_THAT(
      chosen(Options().criterion(ThresholdCriterion::kYouden), target()),
      is(4, 1.0 / 3, 1, 1.0 / 3, 1));
  EXPECT_THAT(
      chosen(Options().criterion(ThresholdCriterion::kCorner), target()),
      is(2, std::hypot(1.0 / 3, 0.5), 2.0 / 3, 2.0 / 3, 0.5));
  const Options cost = Options().criterion(ThresholdCriterion::kCost);
  EXPECT_THAT(chosen(Options(cost).false_negative_cost(10), target()),
              is(0, 2.0 / 5, 0.6, 1, 0));
  EXPECT_THAT(chosen(Options(cost).false_positive_cost(10), target()),
              is(4, 2.0 / 5, 1, 1.0 / 3, 1));
}

TEST(OptimalThresholdTest, IsTheHighestOfEquallyGoodOnes) {
  // Those at 4, 2 and 0 cost 2 each.
  EXPECT_THAT(chosen(Options().criterion(ThresholdCriterion::kCost), target()),
              is(4, 2.0 / 5, 1, 1.0 / 3, 1));
  // All costs are 0 without what has one.
  EXPECT_THAT(
      chosen(
          Options().criterion(ThresholdCriterion::kCost).false_negative_cost(0),
          target()),
      is(kInf, 0, kNaN, 0, 1));
}

TEST(OptimalThresholdTest, IsNanWithoutTheClassesThatItNeeds) {
  const at::Tensor ones = target().new_ones({5});
  const at::Tensor zeros = target().new_zeros({5});
  const auto nothing = is(kNaN, kNaN, kNaN, kNaN, kNaN);
  EXPECT_THAT(chosen(Options(), zeros), nothing);
  EXPECT_THAT(chosen(Options(), ones), is(0, 1, 1, 1, kNaN));
  for (const ThresholdCriterion both :
       {ThresholdCriterion::kYouden, ThresholdCriterion::kCorner}) {
    EXPECT_THAT(chosen(Options().criterion(both), ones), nothing);
    EXPECT_THAT(chosen(Options().criterion(both), zeros), nothing);
  }
  const Options cost = Options().criterion(ThresholdCriterion::kCost);
  EXPECT_THAT(chosen(cost, zeros), is(kInf, 0, kNaN, kNaN, 1));
  EXPECT_THAT(chosen(cost, ones), is(0, 0, 1, 1, kNaN));
  for (const auto& [name, value] :
       MulticlassOptimalThreshold(3).compute_results()) {
    EXPECT_TRUE(value.isnan().all().item<bool>()) << name;
  }
}

TEST(OptimalThresholdTest, AppliesToOtherData) {
  BinaryOptimalThreshold metric(Options()
                                    .input(ScoreKind::kScores)
                                    .criterion(ThresholdCriterion::kCorner));
  metric.update(preds(), target());
  const auto threshold = metric.compute().threshold.item<double>();
  BinaryF1Score f1;
  f1.update(preds().ge(threshold), target());
  EXPECT_DOUBLE_EQ(f1.compute().item<double>(), 2.0 / 3);
  f1.reset();
  f1.update(at::tensor({2.0f, 1.5f, 9.0f}).ge(threshold),
            at::tensor({1, 1, 0}));
  EXPECT_DOUBLE_EQ(f1.compute().item<double>(), 0.5);
}

TEST(OptimalThresholdTest, IntervalsChooseItAnew) {
  const at::Tensor scores = at::tensor({0.1f, 0.3f, 0.2f, 0.8f, 0.9f, 0.4f,
                                        0.7f, 0.6f, 0.5f, 0.35f, 0.65f, 0.45f});
  const at::Tensor labels = at::tensor({0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1});
  const std::int64_t n = scores.size(0);
  IntervalMetric interval(BinaryOptimalThreshold(),
                          IntervalOptions().method(IntervalMethod::kJackknife));
  interval.update(SampleIds(at::arange(n)), scores, labels);
  const Intervals made = interval.compute();
  for (const char* part : {"threshold", "criterion", "precision"}) {
    std::vector<double> values;
    double mean = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      BinaryOptimalThreshold without;
      const at::Tensor kept = at::arange(n).ne(i);
      without.update(scores.index({kept}), labels.index({kept}));
      for (const auto& [name, value] : without.compute_results()) {
        if (name == part) values.push_back(value.item<double>());
      }
      mean += values.back() / static_cast<double>(n);
    }
    double squares = 0;
    for (const double value : values) squares += std::pow(value - mean, 2);
    const double expected = std::sqrt(squares * static_cast<double>(n - 1) /
                                      static_cast<double>(n));
    EXPECT_GT(expected, 0) << part;
    EXPECT_NEAR(made[part].standard_error.item<double>(), expected, 1e-12)
        << part;
    EXPECT_TRUE(made[part].flags.contains(IntervalFlag::kSelected)) << part;
  }
}

TEST(OptimalThresholdTest, RefusesBadCosts) {
  EXPECT_THAT(
      refusal_of([] {
        BinaryOptimalThreshold metric(Options().false_positive_cost(-1));
      }),
      HasSubstr("BinaryOptimalThreshold: expected false_positive_cost "
                "to be finite and at least 0, got -1"));
  EXPECT_THAT(
      refusal_of([] {
        BinaryOptimalThreshold metric(Options().false_negative_cost(kInf));
      }),
      HasSubstr("expected false_negative_cost to be finite and at "
                "least 0, got inf"));
  EXPECT_THAT(refusal_of([] { MulticlassOptimalThreshold metric(1); }),
              HasSubstr("expected num_classes to be at least 2, got 1"));
}

TEST(OptimalThresholdTest, SharesTheStateOfCurves) {
  EXPECT_EQ(
      BinaryOptimalThreshold(Options().criterion(ThresholdCriterion::kCorner))
          .state_key(),
      BinaryROC().state_key());
  EXPECT_THAT(Options().false_positive_cost(2).without_effect(),
              ElementsAre("costs have no effect without criterion cost"));
}

}  // namespace
}  // namespace tally
