#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/trapezoid.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/precision_recall_curve.h"
#include "tally/metrics/classification/roc.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::check_metric;
using testkit::near;
using testkit::refusal_of;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

at::Tensor list(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble);
}

TEST(CurvePointsTest, BinaryROCPassesTheHarness) {
  check_metric<BinaryROC>("BinaryROC");
}
TEST(CurvePointsTest, MulticlassROCPassesTheHarness) {
  check_metric<MulticlassROC>("MulticlassROC");
}
TEST(CurvePointsTest, MultilabelROCPassesTheHarness) {
  check_metric<MultilabelROC>("MultilabelROC");
}
TEST(CurvePointsTest, BinaryPrecisionRecallCurvePassesTheHarness) {
  check_metric<BinaryPrecisionRecallCurve>("BinaryPrecisionRecallCurve");
}
TEST(CurvePointsTest, MulticlassPrecisionRecallCurvePassesTheHarness) {
  check_metric<MulticlassPrecisionRecallCurve>(
      "MulticlassPrecisionRecallCurve");
}
TEST(CurvePointsTest, MultilabelPrecisionRecallCurvePassesTheHarness) {
  check_metric<MultilabelPrecisionRecallCurve>(
      "MultilabelPrecisionRecallCurve");
}

TEST(CurvePointsTest, ROCGoesThroughEveryScore) {
  BinaryROC roc;
  roc.update(at::tensor({0.5f, 0.25f, 0.75f, 0.5f}), at::tensor({1, 0, 1, 0}));
  const RocCurve curve = roc.compute();
  EXPECT_TRUE(near(curve.thresholds, list({kInf, 0.75, 0.5, 0.25})));
  EXPECT_TRUE(near(curve.fpr, list({0, 0, 0.5, 1})));
  EXPECT_TRUE(near(curve.tpr, list({0, 0.5, 1, 1})));
}

TEST(CurvePointsTest, PrecisionRecallEndsAtOneAndZero) {
  BinaryPrecisionRecallCurve metric;
  metric.update(at::tensor({0.5f, 0.25f, 0.75f, 0.5f}),
                at::tensor({1, 0, 1, 0}));
  const PrecisionRecall curve = metric.compute();
  EXPECT_TRUE(near(curve.thresholds, list({0.25, 0.5, 0.75})));
  EXPECT_TRUE(near(curve.precision, list({0.5, 2.0 / 3, 1, 1})));
  EXPECT_TRUE(near(curve.recall, list({1, 1, 0.5, 0})));
}

TEST(CurvePointsTest, ThresholdsAtAllScoresGiveTheExactCurve) {
  const at::Tensor preds = at::randint(0, 33, {200}).div(32);
  const at::Tensor target = at::randint(0, 2, {200}, at::kLong);
  BinaryROC exact;
  BinaryPrecisionRecallCurve exact_pr;
  exact.update(preds, target);
  exact_pr.update(preds, target);
  std::vector<double> scores;
  for (int i = 0; i <= 32; ++i) {
    if (preds.eq(i / 32.0).any().item<bool>()) scores.push_back(i / 32.0);
  }
  BinaryROC binned(BinaryROCOptions().thresholds(scores));
  BinaryPrecisionRecallCurve binned_pr(
      BinaryPrecisionRecallCurveOptions().thresholds(scores));
  binned.update(preds, target);
  binned_pr.update(preds, target);
  EXPECT_TRUE(near(binned.compute_results(), exact.compute_results()));
  EXPECT_TRUE(near(binned_pr.compute_results(), exact_pr.compute_results()));
}

TEST(CurvePointsTest, ThresholdsThatNoScoreReachesHaveNoPrecision) {
  for (const double zero_division : {kNaN, 0.0, 1.0}) {
    BinaryPrecisionRecallCurve metric(BinaryPrecisionRecallCurveOptions()
                                          .thresholds({0.5, 0.9})
                                          .zero_division(zero_division));
    metric.update(at::tensor({0.6f, 0.2f}), at::tensor({1, 0}));
    EXPECT_TRUE(near(metric.compute().precision, list({1, zero_division, 1})));
  }
  EXPECT_THROW(BinaryPrecisionRecallCurve(
                   BinaryPrecisionRecallCurveOptions().zero_division(2)),
               c10::ValueError);
}

TEST(CurvePointsTest, AreUndefinedWithoutData) {
  BinaryROC exact;
  EXPECT_TRUE(near(exact.compute().fpr, list({kNaN})));
  EXPECT_TRUE(near(exact.compute().thresholds, list({kInf})));
  BinaryROC binned(BinaryROCOptions().thresholds(2));
  EXPECT_TRUE(near(binned.compute().tpr, list({kNaN, kNaN, kNaN})));
  EXPECT_TRUE(near(binned.compute().thresholds, list({kInf, 1, 0})));
  MulticlassROC classes(3);
  EXPECT_EQ(classes.compute().fpr.sizes(), (at::IntArrayRef{3, 1}));
  MulticlassROC mean(MulticlassROCOptions(3).average(Average::kMacro));
  EXPECT_TRUE(near(mean.compute().fpr, list({kNaN})));
  BinaryPrecisionRecallCurve precision;
  EXPECT_TRUE(near(precision.compute().precision, list({1})));
  EXPECT_EQ(precision.compute().thresholds.numel(), 0);
  MulticlassPrecisionRecallCurve mean_precision(
      MulticlassPrecisionRecallCurveOptions(3).average(Average::kMacro));
  EXPECT_TRUE(near(mean_precision.compute().recall, list({kNaN, 0})));
}

TEST(CurvePointsTest, NanMakesTheWholeCurveNan) {
  const at::Tensor preds = at::tensor({0.5f, std::nanf(""), 0.25f});
  const at::Tensor target = at::tensor({1, 0, 0});
  BinaryROC exact;
  exact.update(preds, target);
  EXPECT_TRUE(near(exact.compute().fpr, list({kNaN, kNaN})));
  EXPECT_TRUE(near(exact.compute().thresholds, list({kInf, kNaN})));
  BinaryPrecisionRecallCurve binned(
      BinaryPrecisionRecallCurveOptions().thresholds(2));
  binned.update(preds, target);
  EXPECT_TRUE(near(binned.compute().precision, list({kNaN, kNaN, 1})));
  EXPECT_TRUE(near(binned.compute().thresholds, list({0, 1})));
  MulticlassROC mean(MulticlassROCOptions(2).average(Average::kMacro));
  mean.update(at::cat({preds.unsqueeze(1), preds.unsqueeze(1)}, 1), target);
  EXPECT_TRUE(near(mean.compute().tpr, list({kNaN})));
}

TEST(CurvePointsTest, MeanCurvesHaveTheMeanArea) {
  const at::Tensor preds = at::rand({60, 4}).mul_(20).round_().div_(20);
  const at::Tensor target = at::randint(0, 4, {60}, at::kLong);
  for (const Thresholds& thresholds : {Thresholds(), Thresholds(7)}) {
    MulticlassROC roc(MulticlassROCOptions(4)
                          .average(Average::kMacro)
                          .thresholds(thresholds));
    MulticlassPrecisionRecallCurve curve(
        MulticlassPrecisionRecallCurveOptions(4)
            .average(Average::kMacro)
            .thresholds(thresholds));
    MulticlassAUROC area(MulticlassAUROCOptions(4).thresholds(thresholds));
    MulticlassAveragePrecision mean(
        MulticlassAveragePrecisionOptions(4).thresholds(thresholds));
    roc.update(preds, target);
    curve.update(preds, target);
    area.update(preds, target);
    mean.update(preds, target);
    const RocCurve points = roc.compute();
    EXPECT_NEAR(at::trapezoid(points.tpr, points.fpr).item<double>(),
                area.compute().item<double>(), 1e-14);
    const PrecisionRecall steps = curve.compute();
    EXPECT_NEAR(steps.recall.diff()
                    .neg()
                    .mul(steps.precision.slice(0, 0, -1))
                    .sum()
                    .item<double>(),
                mean.compute().item<double>(), 1e-14);
  }
}

TEST(CurvePointsTest, NamesTheirParts) {
  MulticlassROC roc(3);
  std::vector<std::string> names;
  for (const auto& [name, value] : roc.compute_results()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"fpr", "tpr", "thresholds"}));
}

TEST(CurvePointsTest, HaveNoWeightedAverage) {
  const char* expected = "expected average micro, macro or none, got weighted";
  const auto weighted = Average::kWeighted;
  EXPECT_THAT(refusal_of([=] {
                MulticlassROC(MulticlassROCOptions(3).average(weighted));
              }),
              HasSubstr(expected));
  EXPECT_THAT(refusal_of([=] {
                MultilabelROC(MultilabelROCOptions(3).average(weighted));
              }),
              HasSubstr(expected));
  EXPECT_THAT(refusal_of([=] {
                MulticlassPrecisionRecallCurve(
                    MulticlassPrecisionRecallCurveOptions(3).average(weighted));
              }),
              HasSubstr(expected));
  EXPECT_THAT(refusal_of([=] {
                MultilabelPrecisionRecallCurve(
                    MultilabelPrecisionRecallCurveOptions(3).average(weighted));
              }),
              HasSubstr(expected));
}

}  // namespace
}  // namespace tally
