#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/classification/auroc.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/with_gaps.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testkit::refusal_of_update;
using testkit::with_gaps;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

BinaryAUROCOptions options() { return {}; }

double area(BinaryAUROC& auroc) { return auroc.compute().item<double>(); }

double area_of(const BinaryAUROCOptions& given, const at::Tensor& preds,
               const at::Tensor& target, const MetricOptions& metric = {}) {
  BinaryAUROC auroc(given, metric);
  auroc.update(preds, target);
  return area(auroc);
}

MetricOptions with(NanPolicy policy) {
  return MetricOptions().nan_policy(policy);
}

TEST(BinaryAUROCTest, PassesTheHarness) {
  testkit::check_metric<BinaryAUROC>("BinaryAUROC");
}

TEST(BinaryAUROCTest, CountsPairsInOrder) {
  BinaryAUROC auroc;
  auroc.update(at::tensor({0.1f, 0.4f}), at::tensor({0, 0}));
  auroc.update(at::tensor({0.35f, 0.8f}), at::tensor({1, 1}));
  EXPECT_DOUBLE_EQ(area(auroc), 0.75);
  EXPECT_EQ(auroc.compute().scalar_type(), at::kDouble);
  EXPECT_EQ(auroc.compute().dim(), 0);
  EXPECT_EQ(auroc.higher_is_better(), true);
  EXPECT_FALSE(auroc.is_differentiable());
}

TEST(BinaryAUROCTest, IsNanWithoutData) {
  for (const auto& given : {options(), options().thresholds(5)}) {
    BinaryAUROC auroc(given);
    EXPECT_TRUE(std::isnan(area(auroc)));
    auroc.update(at::empty({0}), at::empty({0}, at::kLong));
    EXPECT_TRUE(std::isnan(area(auroc)));
  }
}

TEST(BinaryAUROCTest, TakesEveryDtypeAndStride) {
  const at::Tensor target = at::randint(0, 2, {200}, at::kLong);
  // Exact in every floating-point dtype.
  const at::Tensor preds = at::randint(0, 33, {200}).div(32);
  for (const auto& given :
       {options(), options().max_fpr(0.3), options().thresholds(10),
        options().thresholds({0.25, 0.5}),
        options().thresholds(10).input(ScoreKind::kLogits)}) {
    const double expected = area_of(given, preds, target);
    EXPECT_NEAR(area_of(given, with_gaps(preds), with_gaps(target)), expected,
                1e-14);
    for (const auto dtype :
         {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
      EXPECT_NEAR(area_of(given, preds.to(dtype), target), expected, 1e-14);
    }
    for (const auto dtype :
         {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt}) {
      EXPECT_EQ(area_of(given, preds, target.to(dtype)), expected);
      EXPECT_NEAR(area_of(given, preds, with_gaps(target.to(dtype))), expected,
                  1e-14);
    }
  }
}

TEST(BinaryAUROCTest, ManySamplesAreExact) {
  const at::Tensor target = at::randint(0, 2, {20000}, at::kLong);
  const at::Tensor preds = at::randn({20000}, at::kDouble).add_(target);
  const auto any = options().input(ScoreKind::kScores);
  const double expected = area_of(any, preds, target);
  EXPECT_EQ(area_of(any, with_gaps(preds), target), expected);
  EXPECT_EQ(area_of(any, preds.neg(), target.sub(1).neg()), expected);
  EXPECT_NEAR(area_of(any, preds.to(at::kFloat), target), expected, 1e-6);
}

TEST(BinaryAUROCTest, HasNoGradient) {
  BinaryAUROC auroc;
  const at::Tensor preds = at::rand({20}).requires_grad_();
  const at::Tensor target = at::randint(0, 2, {20}, at::kLong);
  EXPECT_FALSE(auroc.forward(preds, target).requires_grad());
  auroc.update(preds, target);
  EXPECT_FALSE(auroc.state()["preds"].requires_grad());
}

TEST(BinaryAUROCTest, ExactAreasTakeAnyScore) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto input : {ScoreKind::kScores, ScoreKind::kLogits}) {
    EXPECT_EQ(area_of(options().input(input),
                      at::tensor({-infinity, -7.0f, 3.0f, infinity}),
                      at::tensor({0, 0, 1, 1})),
              1);
  }
}

TEST(BinaryAUROCTest, RefusesWhatIsNoProbability) {
  for (const bool plain : {true, false}) {
    const at::Tensor scores = at::tensor({0.5f, 0.2f, 1.5f, -2.0f});
    const at::Tensor preds = plain ? scores : with_gaps(scores);
    const at::Tensor target = at::tensor({0, 1, 1, 0});
    for (const auto& given : {options(), options().thresholds(5)}) {
      BinaryAUROC auroc(given);
      EXPECT_THAT(refusal_of_update(auroc, preds, target),
                  AllOf(HasSubstr("expected probabilities in [0, 1] as preds, "
                                  "got 1.5 at position 2 (input is "
                                  "ScoreKind::kLogits for logits"),
                        HasSubstr("BinaryAUROC")));
      // Unchecked, they are ranked, or lie beyond the outermost thresholds.
      EXPECT_EQ(
          area_of(given, preds, target, MetricOptions().validate_args(false)),
          0.75);
      BinaryAUROC ignoring(BinaryAUROCOptions(given).ignore_index(1));
      EXPECT_THAT(refusal_of_update(ignoring, preds, target),
                  HasSubstr("got -2 at position 3"));
      BinaryAUROC weighted(given);
      EXPECT_THAT(
          refusal_of_update(weighted, preds, target, at::tensor({1, 1, 0, 2})),
          HasSubstr("got -2 at position 3"));
      weighted.update(preds, target, at::tensor({2, 1, 0, 0}));
      BinaryAUROC holes(given);
      EXPECT_THAT(refusal_of_update(
                      holes, preds.masked_fill(preds.eq(0.5), kNaN), target),
                  HasSubstr("got 1.5 at position 2"));
    }
    BinaryAUROC exact;
    EXPECT_THAT(refusal_of_update(exact, preds, target),
                HasSubstr("ScoreKind::kScores for scores of any kind)"));
  }
}

TEST(BinaryAUROCTest, RefusesOtherTargets) {
  const at::Tensor preds = at::tensor({0.5f, 0.2f, 0.1f});
  for (const auto& given : {options(), options().thresholds(5)}) {
    for (const at::Tensor& scores : {preds, with_gaps(preds)}) {
      BinaryAUROC auroc(given);
      EXPECT_THAT(refusal_of_update<c10::IndexError>(auroc, scores,
                                                     at::tensor({0, 1, 7})),
                  HasSubstr("expected target in [0, 2), got 7 at position 2"));
      BinaryAUROC ignoring(BinaryAUROCOptions(given).ignore_index(-1));
      EXPECT_THAT(
          refusal_of_update<c10::IndexError>(ignoring, scores,
                                             at::tensor({-1, -2, 1})),
          HasSubstr("expected target in [0, 2) or ignore_index (-1), got -2 at "
                    "position 1"));
    }
  }
}

TEST(BinaryAUROCTest, RefusesOtherShapesAndDtypes) {
  BinaryAUROC auroc;
  const at::Tensor preds = at::rand({4});
  EXPECT_THAT(
      refusal_of_update(auroc, preds, at::tensor({0, 1, 1})),
      HasSubstr(
          "expected preds and target of the same shape, got [4] and [3]"));
  EXPECT_THAT(refusal_of_update<c10::TypeError>(auroc, at::tensor({0, 1}),
                                                at::tensor({0, 1})),
              HasSubstr("expected preds of a floating-point dtype, got Int"));
  EXPECT_THAT(refusal_of_update<c10::TypeError>(
                  auroc, preds, at::ones({4}, at::kComplexFloat)),
              HasSubstr("expected target of an integer dtype, or whole numbers "
                        "of a floating-point dtype, got ComplexFloat"));
  EXPECT_THAT(refusal_of_update(auroc, at::Tensor(), preds),
              HasSubstr("expected a tensor as preds"));
}

TEST(BinaryAUROCTest, FollowsTheNanPolicy) {
  const at::Tensor scores = at::tensor({0.1f, kNaN, 0.7f, 0.4f, kNaN});
  const at::Tensor target = at::tensor({0, 1, 1, 0, -1});
  for (const at::Tensor& preds :
       {scores, with_gaps(scores), scores.to(at::kDouble)}) {
    for (const auto& given : {options().ignore_index(-1),
                              options().ignore_index(-1).thresholds(11)}) {
      EXPECT_TRUE(std::isnan(area_of(given, preds, target)));
      EXPECT_EQ(area_of(given, preds, target, with(NanPolicy::kIgnore)), 1);
      BinaryAUROC strict(given, with(NanPolicy::kError));
      EXPECT_THAT(
          refusal_of_update(strict, preds, target),
          HasSubstr("expected preds without NaN, got NaN at position 1"));
      // Where the target is ignored, so is the score.
      EXPECT_EQ(area_of(given, preds.slice(0, 2), target.slice(0, 2)), 1);
      strict.update(preds.slice(0, 2), target.slice(0, 2));
      EXPECT_EQ(area(strict), 1);
    }
  }
}

TEST(BinaryAUROCTest, DoesNotKeepWhatIsIgnored) {
  const at::Tensor preds = at::rand({6}).view({2, 3});
  const at::Tensor target = at::tensor({0, 5, 1, 5, 5, 1}).view({2, 3});
  for (const at::Tensor& labels : {target, with_gaps(target)}) {
    BinaryAUROC auroc(options().ignore_index(5));
    auroc.update(preds, labels);
    EXPECT_EQ(auroc.state()["preds"].numel(), 3);
    EXPECT_EQ(auroc.state()["target"].numel(), 3);
  }
}

TEST(BinaryAUROCTest, ScoresOnThresholdsReachThem) {
  // 0.75 reaches 3 of the thresholds, 0.5 two: they differ, as 0.6 and 0.7 do
  // not.
  const auto given = options().thresholds({0.25, 0.5, 0.75});
  EXPECT_EQ(area_of(given, at::tensor({0.75f, 0.5f}), at::tensor({1, 0})), 1);
  EXPECT_EQ(area_of(given, at::tensor({0.7f, 0.6f}), at::tensor({1, 0})), 0.5);
}

TEST(BinaryAUROCTest, RefusesStatesThatNoUpdateMakes) {
  const BinaryAUROC auroc;
  const auto made = auroc.observe(at::rand({3}), at::tensor({0, 1, 1}));
  for (const Rows& target :
       {Rows(at::tensor({0, 1}, at::kByte)), Rows(at::tensor({0, 1, 1})),
        Rows(), Rows(at::tensor({0, 1, 1}, at::kByte).view({3, 1}))}) {
    BinaryAUROC::State state = made;
    state.unweighted.target = target;
    EXPECT_THROW(auroc.evaluate(state), c10::ValueError);
  }
  BinaryAUROC::State wide;
  wide.unweighted.preds = Rows(at::rand({3, 2}));
  wide.unweighted.target = Rows(at::zeros({3, 2}, at::kByte));
  EXPECT_THROW(auroc.evaluate(wide), c10::ValueError);
  for (const at::Tensor& histogram :
       {at::tensor({1, 2}, at::kLong), at::zeros({1, 5}, at::kLong),
        at::zeros({2, 5}, at::kLong), at::zeros({2, 2, 5}, at::kLong),
        at::zeros({1, 2, 0}, at::kLong), at::zeros({1, 2, 5})}) {
    BinaryAUROC::State state;
    state.unweighted.histogram = histogram;
    EXPECT_THROW(auroc.evaluate(state), c10::ValueError);
  }
}

TEST(BinaryAUROCTest, SharesItsStateWhateverThePartOfTheCurve) {
  const StateKey key = BinaryAUROC().state_key();
  EXPECT_EQ(BinaryAUROC(options().max_fpr(0.1)).state_key(), key);
  EXPECT_NE(BinaryAUROC(options().thresholds(10)).state_key(), key);
  EXPECT_NE(BinaryAUROC(options().ignore_index(-1)).state_key(), key);
}

TEST(BinaryAUROCTest, ValidatesItsOptions) {
  for (const double max_fpr : {0.0, -0.5, 1.5, std::nan("")}) {
    try {
      BinaryAUROC auroc(options().max_fpr(max_fpr));
      ADD_FAILURE() << max_fpr;
    } catch (const c10::ValueError& error) {
      EXPECT_THAT(error.what_without_backtrace(),
                  HasSubstr("BinaryAUROC: expected max_fpr in (0, 1], got "));
    }
  }
  EXPECT_THROW(BinaryAUROC(options().thresholds(1)), c10::ValueError);
}

TEST(BinaryAUROCTest, PrintsItsOptions) {
  EXPECT_EQ(BinaryAUROC(options().thresholds({0.1, 0.5}).max_fpr(0.2)).repr(),
            "BinaryAUROC(thresholds=[0.1, 0.5], input=probabilities, "
            "ignore_index=none, keep_rows=false, max_fpr=0.2)");
}

}  // namespace
}  // namespace tally
