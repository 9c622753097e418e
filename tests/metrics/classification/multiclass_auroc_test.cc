#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
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
#include "tally/testing/compare.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/with_gaps.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testkit::refusal_of;
using testkit::refusal_of_update;
using testkit::with_gaps;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

MulticlassAUROCOptions classes(std::int64_t count) {
  return MulticlassAUROCOptions(count).average(Average::kNone);
}

at::Tensor areas(const MulticlassAUROCOptions& given, const at::Tensor& preds,
                 const at::Tensor& target, const MetricOptions& metric = {}) {
  MulticlassAUROC auroc(given, metric);
  auroc.update(preds, target);
  return auroc.compute();
}

void expect_close(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_TRUE(actual.allclose(expected, 1e-13, 1e-13, /*equal_nan=*/true))
      << actual << "\nexpected\n"
      << expected;
}

MetricOptions with(NanPolicy policy) {
  return MetricOptions().nan_policy(policy);
}

TEST(MulticlassAUROCTest, PassesTheHarness) {
  testkit::check_metric<MulticlassAUROC>("MulticlassAUROC");
}

TEST(MulticlassAUROCTest, TakesOneClassAgainstTheRest) {
  const at::Tensor preds = at::rand({50, 3}).softmax(1);
  const at::Tensor target = at::randint(0, 3, {50}, at::kLong);
  const at::Tensor values = areas(classes(3), preds, target);
  EXPECT_EQ(values.scalar_type(), at::kDouble);
  for (std::int64_t c = 0; c < 3; ++c) {
    BinaryAUROC one;
    one.update(preds.select(1, c), target.eq(c));
    EXPECT_EQ(one.compute().item<double>(), values.select(0, c).item<double>());
  }
  EXPECT_NEAR(areas(3, preds, target).item<double>(),
              values.mean().item<double>(), 1e-15);
}

TEST(MulticlassAUROCTest, IsNanWithoutData) {
  for (const auto& given : {classes(3), classes(3).thresholds(5)}) {
    MulticlassAUROC auroc(given);
    EXPECT_EQ(auroc.compute().sizes(), at::IntArrayRef{3});
    EXPECT_TRUE(auroc.compute().isnan().all().item<bool>());
    auroc.update(at::empty({0, 3}), at::empty({0}, at::kLong));
    EXPECT_TRUE(auroc.compute().isnan().all().item<bool>());
    MulticlassAUROC macro(
        MulticlassAUROCOptions(given).average(Average::kMacro));
    EXPECT_EQ(macro.compute().dim(), 0);
    EXPECT_TRUE(macro.compute().isnan().item<bool>());
  }
}

TEST(MulticlassAUROCTest, TakesEveryDtypeAndStride) {
  const at::Tensor target = at::randint(0, 4, {60, 2}, at::kLong);
  // Exact in every floating-point dtype. No two rows have the same softmax, for
  // rounding would decide which is the larger.
  const at::Tensor probabilities =
      at::rand({60, 4, 2}).clamp_min_(0.01).to(at::kBFloat16).to(at::kFloat);
  for (const auto input : {ScoreKind::kProbabilities, ScoreKind::kLogits}) {
    const at::Tensor preds =
        input == ScoreKind::kLogits ? probabilities.mul(8) : probabilities;
    for (const auto& thresholds :
         {Thresholds(), Thresholds(10), Thresholds({0.22, 0.31, 0.43})}) {
      const auto given = classes(4).thresholds(thresholds).input(input);
      const at::Tensor expected = areas(given, preds, target);
      expect_close(areas(given, with_gaps(preds), with_gaps(target)), expected);
      for (const auto dtype :
           {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
        expect_close(areas(given, preds.to(dtype), target), expected);
      }
      for (const auto dtype : {at::kByte, at::kChar, at::kShort, at::kInt}) {
        expect_close(areas(given, preds, target.to(dtype)), expected);
      }
    }
  }
}

TEST(MulticlassAUROCTest, LogitsGoThroughASoftmax) {
  const at::Tensor logits = at::randn({100, 4}).mul_(3);
  const at::Tensor target = at::randint(0, 4, {100}, at::kLong);
  const at::Tensor probabilities = logits.to(at::kDouble).softmax(1);
  for (const auto& thresholds : {Thresholds(), Thresholds(20)}) {
    const auto given = classes(4).thresholds(thresholds);
    const auto from_logits =
        MulticlassAUROCOptions(given).input(ScoreKind::kLogits);
    const at::Tensor expected = areas(given, probabilities, target);
    expect_close(areas(from_logits, logits, target), expected);
    expect_close(areas(from_logits, with_gaps(logits), target), expected);
  }
  // Raw logits have another order within a class.
  EXPECT_FALSE(areas(classes(4).input(ScoreKind::kScores), logits, target)
                   .allclose(areas(classes(4), probabilities, target)));
}

TEST(MulticlassAUROCTest, LogitsThatSaturateKeepTheirOrder) {
  const at::Tensor logits =
      at::tensor({100.0f, 0.0f, 90.0f, 0.0f, 80.0f, 0.0f, 70.0f, 0.0f})
          .view({4, 2});
  const at::Tensor target = at::tensor({0, 0, 1, 1});
  const auto given = classes(2).input(ScoreKind::kLogits);
  expect_close(areas(given, logits, target), at::full({2}, 1, at::kDouble));
}

TEST(MulticlassAUROCTest, HasNoGradient) {
  MulticlassAUROC auroc(3);
  const at::Tensor preds = at::rand({20, 3}).requires_grad_();
  const at::Tensor target = at::randint(0, 3, {20}, at::kLong);
  EXPECT_FALSE(auroc.forward(preds, target).requires_grad());
  EXPECT_FALSE(auroc.is_differentiable());
}

TEST(MulticlassAUROCTest, RefusesWhatIsNoProbability) {
  const at::Tensor scores =
      at::tensor({0.5f, 0.5f, 0.2f, 0.8f, -1.0f, 2.0f}).view({3, 2});
  const at::Tensor target = at::tensor({0, 1, 1});
  for (const at::Tensor& preds : {scores, with_gaps(scores)}) {
    for (const auto& given : {classes(2), classes(2).thresholds(5)}) {
      MulticlassAUROC auroc(given);
      EXPECT_THAT(refusal_of_update(auroc, preds, target),
                  AllOf(HasSubstr("expected probabilities in [0, 1] as preds, "
                                  "got -1 at position 2 (input is "
                                  "ScoreKind::kLogits for logits"),
                        HasSubstr("MulticlassAUROC")));
      // Unchecked, they are ranked, or lie beyond the outermost thresholds.
      expect_close(
          areas(given, preds, target, MetricOptions().validate_args(false)),
          at::full({2}, 1, at::kDouble));
      // Those that are ignored are not looked at.
      MulticlassAUROC ignoring(MulticlassAUROCOptions(given).ignore_index(9));
      ignoring.update(preds, at::tensor({0, 1, 9}));
      expect_close(ignoring.compute(), at::full({2}, 1, at::kDouble));
      // Nor are those of weight 0.
      MulticlassAUROC weighted(given);
      weighted.update(preds, target, at::tensor({1, 2, 0}));
      expect_close(weighted.compute(), at::full({2}, 1, at::kDouble));
      at::Tensor holes = preds.clone();
      holes.select(0, 0).fill_(kNaN);
      EXPECT_THAT(refusal_of_update(auroc, holes, target),
                  HasSubstr("got -1 at position 2"));
    }
    MulticlassAUROC exact(classes(2));
    EXPECT_THAT(refusal_of_update(exact, preds, target),
                HasSubstr("ScoreKind::kScores for scores of any kind)"));
  }
}

TEST(MulticlassAUROCTest, ClassesOfManySamplesHaveTheAreaAgainstTheRest) {
  constexpr std::int64_t kRows = 2500;
  constexpr std::int64_t kCount = 21;
  const at::Tensor target = at::randint(0, kCount - 1, {kRows}, at::kLong);
  const at::Tensor logits = at::randn({kRows, kCount});
  at::Tensor close = logits.mul(1e-6).add(1);
  close.select(0, 0).fill_(-kInf);
  at::Tensor holes = logits.clone();
  holes.select(0, 7).narrow(0, 3, 2).fill_(kNaN);
  for (const at::Tensor& preds : {logits, logits.softmax(1), logits.round(),
                                  close, holes, logits.to(at::kDouble)}) {
    const at::Tensor values =
        areas(classes(kCount).input(ScoreKind::kScores), preds, target);
    for (std::int64_t c = 0; c < kCount; ++c) {
      BinaryAUROC one(BinaryAUROCOptions().input(ScoreKind::kScores));
      one.update(preds.select(1, c), target.eq(c));
      EXPECT_TRUE(testkit::same_bits(values.select(0, c), one.compute())) << c;
    }
  }
}

TEST(MulticlassAUROCTest, RefusesOtherTargets) {
  const at::Tensor preds = at::rand({3, 4});
  for (const auto& given : {classes(4), classes(4).thresholds(5)}) {
    for (const at::Tensor& scores : {preds, with_gaps(preds)}) {
      MulticlassAUROC auroc(given);
      EXPECT_THAT(refusal_of_update<c10::IndexError>(auroc, scores,
                                                     at::tensor({0, 4, 1})),
                  HasSubstr("expected target in [0, 4), got 4 at position 1"));
      EXPECT_THAT(refusal_of_update<c10::IndexError>(auroc, scores,
                                                     at::tensor({0, 1, -1})),
                  HasSubstr("expected target in [0, 4), got -1 at position 2"));
      MulticlassAUROC ignoring(MulticlassAUROCOptions(given).ignore_index(-1));
      ignoring.update(scores, at::tensor({0, 1, -1}));
    }
  }
}

TEST(MulticlassAUROCTest, RefusesOtherShapesAndDtypes) {
  MulticlassAUROC auroc(3);
  const at::Tensor target = at::tensor({0, 1});
  for (const at::Tensor& preds :
       {at::rand({2}), at::rand({2, 4}), at::rand({3, 3}), at::rand({2, 3, 1}),
        at::rand({})}) {
    EXPECT_THAT(refusal_of_update(auroc, preds, target),
                HasSubstr("expected preds [N, 3, ...] and target [N, ...], "
                          "got sizes "));
  }
  EXPECT_THAT(refusal_of_update<c10::TypeError>(
                  auroc, at::rand({2, 3}).to(at::kLong), target),
              HasSubstr("expected preds of a floating-point dtype, got Long"));
  EXPECT_THAT(
      refusal_of_update<c10::TypeError>(auroc, at::rand({2, 3}),
                                        at::ones({2}, at::kComplexFloat)),
      HasSubstr("expected target of an integer dtype, or whole numbers of a "
                "floating-point dtype, got ComplexFloat"));
}

TEST(MulticlassAUROCTest, FollowsTheNanPolicy) {
  const at::Tensor scores =
      at::tensor({0.8f, 0.1f, 0.1f, 0.2f, 0.7f, 0.1f, 0.2f, 0.3f, 0.5f, kNaN,
                  0.5f, 0.5f, kNaN, kNaN, kNaN})
          .view({5, 3});
  const at::Tensor target = at::tensor({0, 1, 2, 0, -1});
  for (const at::Tensor& preds : {scores, with_gaps(scores)}) {
    for (const auto& given : {classes(3).ignore_index(-1),
                              classes(3).ignore_index(-1).thresholds(11)}) {
      const at::Tensor values = areas(given, preds, target);
      EXPECT_TRUE(values.select(0, 0).isnan().item<bool>());
      EXPECT_EQ(values.isnan().sum().item<std::int64_t>(), 1);
      EXPECT_TRUE(areas(MulticlassAUROCOptions(given).average(Average::kMacro),
                        preds, target)
                      .isnan()
                      .item<bool>());
      expect_close(areas(given, preds, target, with(NanPolicy::kIgnore)),
                   at::full({3}, 1, at::kDouble));
      MulticlassAUROC strict(given, with(NanPolicy::kError));
      EXPECT_THAT(
          refusal_of_update(strict, preds, target),
          HasSubstr("expected preds without NaN, got NaN at position 3"));
    }
  }
}

TEST(MulticlassAUROCTest, LogitsWithoutASoftmaxCountAsNan) {
  const at::Tensor scores = at::tensor({1.0f, 0.0f, 0.0f, 1.0f, kInf, 2.0f,
                                        -kInf, -kInf, -kInf, 0.0f})
                                .view({5, 2});
  const at::Tensor target = at::tensor({0, 1, 0, 0, 1});
  for (const at::Tensor& preds : {scores, with_gaps(scores)}) {
    for (const auto& given :
         {classes(2).input(ScoreKind::kLogits),
          classes(2).input(ScoreKind::kLogits).thresholds(4)}) {
      EXPECT_TRUE(areas(given, preds, target).isnan().all().item<bool>());
      expect_close(areas(given, preds, target, with(NanPolicy::kIgnore)),
                   at::full({2}, 1, at::kDouble));
      MulticlassAUROC strict(given, with(NanPolicy::kError));
      EXPECT_THAT(refusal_of_update(strict, preds, target),
                  HasSubstr("got NaN at position 2"));
    }
  }
}

TEST(MulticlassAUROCTest, RefusesStatesThatNoUpdateMakes) {
  const MulticlassAUROC auroc(3);
  MulticlassAUROC::State state;
  state.unweighted.preds = Rows(at::rand({2, 4}));
  state.unweighted.target = Rows(at::tensor({0, 1}));
  EXPECT_THROW(auroc.evaluate(state), c10::ValueError);
  state.unweighted.preds = Rows(at::rand({3, 3}));
  EXPECT_THROW(auroc.evaluate(state), c10::ValueError);
  for (const at::Tensor& histogram :
       {at::zeros({3, 2}, at::kLong), at::zeros({2, 2, 5}, at::kLong),
        at::zeros({3, 1, 5}, at::kLong), at::zeros({3, 2, 0}, at::kLong),
        at::zeros({3, 2, 5})}) {
    state.unweighted.histogram = histogram;
    EXPECT_THROW(auroc.evaluate(state), c10::ValueError);
  }
}

TEST(MulticlassAUROCTest, SharesItsStateWhateverTheAverage) {
  EXPECT_EQ(MulticlassAUROC(classes(3)).state_key(),
            MulticlassAUROC(3).state_key());
  EXPECT_NE(MulticlassAUROC(4).state_key(), MulticlassAUROC(3).state_key());
}

TEST(MulticlassAUROCTest, ValidatesItsOptions) {
  const auto refused = [](const MulticlassAUROCOptions& given) {
    return refusal_of([&] { MulticlassAUROC auroc(given); });
  };
  EXPECT_THAT(refused(1), HasSubstr("MulticlassAUROC: expected num_classes to "
                                    "be at least 2, got 1"));
  EXPECT_THAT(refused(classes(3).thresholds(0)),
              HasSubstr("expected thresholds to be at least 2, got 0"));
}

}  // namespace
}  // namespace tally
