#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
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
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/segmentation/dice_score.h"
#include "tally/metrics/segmentation/generalized_dice_score.h"
#include "tally/metrics/segmentation/mean_iou.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr auto kIndex = SegmentationFormat::kIndex;
constexpr auto kMixed = SegmentationFormat::kMixed;

TEST(OverlapTest, DicePassesTheHarness) {
  testkit::check_metric<DiceScore>("DiceScore");
}
TEST(OverlapTest, GeneralizedDicePassesTheHarness) {
  testkit::check_metric<GeneralizedDiceScore>("GeneralizedDiceScore");
}
TEST(OverlapTest, GeneralizedDiceAgreesWithMonai) {
  testkit::check_metric<GeneralizedDiceScore>("peers/GeneralizedDiceScore");
}
TEST(OverlapTest, MeanIoUPassesTheHarness) {
  testkit::check_metric<MeanIoU>("MeanIoU");
}

std::vector<double> values_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).reshape(-1).contiguous();
  return {flat.const_data_ptr<double>(),
          flat.const_data_ptr<double>() + flat.numel()};
}
double value_of(const SegmentationScore& score) {
  return score.value.item<double>();
}
std::int64_t cases_of(const SegmentationScore& score) {
  return score.cases.item<std::int64_t>();
}

// Labels in runs: 50 of 0, then 10 of 3.
at::Tensor runs(std::initializer_list<std::pair<int, int>> parts) {
  std::vector<at::Tensor> all;
  for (const auto& [count, label] : parts) {
    all.push_back(at::full({count}, label, at::kLong));
  }
  return at::cat(all).unsqueeze(0);
}

TEST(OverlapTest, AClassOfOneInputIsZeroAndOneOfNeitherDoesNotCount) {
  const at::Tensor target = runs({{50, 0}, {10, 3}, {40, 4}});
  const at::Tensor preds = runs({{45, 0}, {5, 2}, {10, 0}, {40, 4}});
  DiceScore macro(DiceScoreOptions(5).input_format(kIndex).count_cases(true));
  const SegmentationScore score = macro.forward(preds, target);
  EXPECT_NEAR(value_of(score), (90.0 / 105 + 1) / 4, 1e-15);
  EXPECT_NEAR(value_of(score), 0.464, 5e-4);
  EXPECT_EQ(cases_of(score), 1);
  DiceScore none(DiceScoreOptions(5)
                     .input_format(kIndex)
                     .average(Average::kNone)
                     .count_cases(true));
  const SegmentationScore by_class = none.forward(preds, target);
  EXPECT_TRUE(by_class.value.allclose(
      at::tensor({90.0 / 105, kNaN, 0.0, 0.0, 1.0}), 1e-15, 0, true));
  EXPECT_THAT(values_of(by_class.cases), ElementsAre(1, 0, 1, 1, 1));
  MeanIoU iou(MeanIoUOptions(5).input_format(kIndex));
  EXPECT_NEAR(value_of(iou.forward(preds, target)), (45.0 / 60 + 1) / 4, 1e-15);
  DiceScore one(DiceScoreOptions(5)
                    .input_format(kIndex)
                    .average(Average::kNone)
                    .absent(AbsentClass::kOne)
                    .count_cases(true));
  EXPECT_THAT(values_of(one.forward(preds, target).cases),
              ElementsAre(1, 1, 1, 1, 1));
  EXPECT_EQ(one.compute().value[1].item<double>(), 1);
}

TEST(OverlapTest, GeneralizedDiceStaysWithinTheSample) {
  const at::Tensor target = at::randint(0, 2, {3, 6, 6}, at::kLong);
  const at::Tensor preds = at::randint(0, 4, {3, 6, 6}, at::kLong);
  for (const auto weight :
       {DiceWeight::kSquare, DiceWeight::kSimple, DiceWeight::kLinear}) {
    const auto options =
        GeneralizedDiceScoreOptions(4).input_format(kIndex).weight_type(weight);
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
      GeneralizedDiceScore alone(options);
      sum += value_of(
          alone.forward(preds.narrow(0, i, 1), target.narrow(0, i, 1)));
    }
    GeneralizedDiceScore together(options);
    EXPECT_NEAR(value_of(together.forward(preds, target)), sum / 3, 1e-15);
  }
}

TEST(OverlapTest, MeanIoUIsTheMeanOfTheMeansOfSamples) {
  // One sample with one class of 0.75, one with four of 1, 1, 1, 0.5.
  const at::Tensor target = at::cat({runs({{4, 0}, {0, 1}, {0, 2}, {0, 3}}),
                                     runs({{1, 0}, {1, 1}, {1, 2}, {1, 3}})});
  at::Tensor preds = target.clone();
  MeanIoU iou(MeanIoUOptions(4).input_format(kIndex).count_cases(true));
  preds[0][3] = 1;
  const SegmentationScore score = iou.forward(preds, target);
  EXPECT_NEAR(value_of(score), ((0.75 + 0) / 2 + 1) / 2, 1e-15);
  EXPECT_EQ(cases_of(score), 2);
  MeanIoU by_class(
      MeanIoUOptions(4).input_format(kIndex).per_class(true).count_cases(true));
  EXPECT_TRUE(by_class.forward(preds, target)
                  .value.equal(at::tensor({0.875, 0.5, 1.0, 1.0})));
  EXPECT_THAT(values_of(by_class.compute().cases), ElementsAre(2, 2, 1, 1));
}

TEST(OverlapTest, GlobalCountsAreWholeAndExact) {
  DiceScore dice(DiceScoreOptions(2)
                     .input_format(kIndex)
                     .average(Average::kNone)
                     .aggregation_level(AggregationLevel::kGlobal));
  dice.update(runs({{3, 0}, {1, 1}}), runs({{2, 0}, {2, 1}}));
  dice.update(runs({{1, 0}, {3, 1}}), runs({{4, 0}}));
  EXPECT_TRUE(dice.compute().value.equal(at::tensor({6.0 / 10, 2.0 / 6})));
}

TEST(OverlapTest, SamplesWithoutForegroundAreSkippedAndCounted) {
  const at::Tensor nothing = at::zeros({3, 4, 4}, at::kLong);
  at::Tensor target = nothing.clone();
  target[1].fill_(1);
  const auto options = DiceScoreOptions(2)
                           .input_format(kIndex)
                           .include_background(false)
                           .count_cases(true);
  for (const auto average :
       {Average::kMacro, Average::kMicro, Average::kWeighted}) {
    DiceScore dice(DiceScoreOptions(options).average(average));
    EXPECT_TRUE(std::isnan(value_of(dice.forward(nothing, nothing))));
    EXPECT_EQ(cases_of(dice.compute()), 0);
    dice.update(target, target);
    EXPECT_EQ(value_of(dice.compute()), 1);
    EXPECT_EQ(cases_of(dice.compute()), 1);
  }
}

TEST(OverlapTest, FormatsAgree) {
  const at::Tensor preds = at::randint(0, 3, {4, 5, 6}, at::kLong);
  const at::Tensor target = at::randint(0, 3, {4, 5, 6}, at::kLong);
  const auto masks = [](const at::Tensor& labels) {
    return labels.unsqueeze(1).eq(at::tensor({0, 1, 2}).reshape({1, 3, 1, 1}));
  };
  const auto dice = [](SegmentationFormat format, const at::Tensor& a,
                       const at::Tensor& b) {
    DiceScore metric(DiceScoreOptions(3).input_format(format));
    return value_of(metric.forward(a, b));
  };
  const double expected = dice(kIndex, preds, target);
  const auto one_hot = SegmentationFormat::kOneHot;
  EXPECT_EQ(dice(one_hot, masks(preds), masks(target)), expected);
  const at::Tensor scores = masks(preds).to(at::kFloat).add(at::rand({1}));
  EXPECT_EQ(dice(one_hot, scores, masks(target).to(at::kInt)), expected);
  EXPECT_EQ(dice(one_hot, scores.to(at::kHalf), masks(target)), expected);
  EXPECT_EQ(dice(kMixed, scores, target), expected);
  EXPECT_EQ(dice(kMixed, preds, masks(target)), expected);
  EXPECT_EQ(dice(kMixed, masks(preds), target.to(at::kByte)), expected);
  for (const auto dtype : {at::kByte, at::kChar, at::kShort, at::kInt}) {
    EXPECT_EQ(dice(kIndex, preds.to(dtype), target), expected) << dtype;
  }
  EXPECT_EQ(
      dice(kIndex, preds.transpose(1, 2).contiguous().transpose(1, 2), target),
      expected);
  DiceScore many(DiceScoreOptions(1000).input_format(kIndex));
  EXPECT_EQ(value_of(many.forward(preds, target)), expected);
}

TEST(OverlapTest, OfEqualScoresTheFirstCounts) {
  const at::Tensor scores = at::zeros({1, 3, 4});
  DiceScore dice(DiceScoreOptions(3).input_format(kMixed));
  EXPECT_EQ(value_of(dice.forward(scores, at::zeros({1, 4}, at::kLong))), 1);
}

TEST(OverlapTest, FamilySharesOneState) {
  MetricCollection metrics;
  const auto dice = DiceScoreOptions(4).input_format(kIndex);
  metrics.add("macro", DiceScore(dice));
  metrics.add("micro",
              DiceScore(DiceScoreOptions(dice).average(Average::kMicro)));
  metrics.add("global", DiceScore(DiceScoreOptions(dice).aggregation_level(
                            AggregationLevel::kGlobal)));
  metrics.add("gds", GeneralizedDiceScore(
                         GeneralizedDiceScoreOptions(4).input_format(kIndex)));
  metrics.add(
      "iou", MeanIoU(MeanIoUOptions(4).input_format(kIndex).count_cases(true)));
  EXPECT_EQ(metrics.groups().size(), 1u);
  metrics.update(at::randint(0, 4, {2, 9, 9}), at::randint(0, 4, {2, 9, 9}));
  const Results results = metrics.compute();
  EXPECT_TRUE(results.contains("iou"));
  EXPECT_EQ(results["iou.cases"].item<std::int64_t>(), 2);
}

TEST(OverlapTest, WithoutCasesTheResultIsANumber) {
  DiceScore dice(2);
  const at::Tensor preds = at::randint(0, 2, {2, 2, 5});
  const at::Tensor forward = dice.forward(preds, preds);
  EXPECT_EQ(forward.item<double>(), 1);
  EXPECT_EQ(dice.compute_results().value().dim(), 0);
  EXPECT_EQ(dice.compute().item<double>(), 1);
  EXPECT_EQ(dice.number(), 1);
  EXPECT_EQ(dice.compute().value.item<double>(), 1);
  DiceScore counted(DiceScoreOptions(2).count_cases(true));
  counted.update(preds, preds);
  EXPECT_EQ(counted.number(), 1);
  EXPECT_EQ(counted.compute_results().number("cases"), 2);
}

TEST(OverlapTest, WithoutUpdates) {
  DiceScore dice(DiceScoreOptions(3).count_cases(true));
  EXPECT_TRUE(std::isnan(value_of(dice.compute())));
  EXPECT_EQ(cases_of(dice.compute()), 0);
  dice.update(at::zeros({0, 3, 4}), at::zeros({0, 3, 4}, at::kLong));
  EXPECT_TRUE(std::isnan(value_of(dice.compute())));
  DiceScore none(
      DiceScoreOptions(3).average(Average::kNone).absent(AbsentClass::kOne));
  EXPECT_TRUE(none.compute().value.isnan().all().item<bool>());
  EXPECT_EQ(none.compute().value.sizes(), at::IntArrayRef({3}));
  MeanIoU iou(MeanIoUOptions().per_class(true));
  EXPECT_EQ(iou.compute().value.sizes(), at::IntArrayRef({0}));
  GeneralizedDiceScore gds(
      GeneralizedDiceScoreOptions(3).include_background(false).per_class(true));
  EXPECT_EQ(gds.compute().value.sizes(), at::IntArrayRef({2}));
}

TEST(OverlapTest, NaNFollowsThePolicy) {
  at::Tensor scores = at::rand({2, 3, 4});
  const at::Tensor target = at::randint(0, 3, {2, 4}, at::kLong);
  const auto options =
      DiceScoreOptions(3).input_format(kMixed).count_cases(true);
  DiceScore first(options);
  const double expected =
      value_of(first.forward(scores.narrow(0, 0, 1), target.narrow(0, 0, 1)));
  scores[1][2][3] = kNaN;
  DiceScore propagates(options);
  EXPECT_TRUE(std::isnan(value_of(propagates.forward(scores, target))));
  DiceScore ignores(options, MetricOptions().nan_policy(NanPolicy::kIgnore));
  EXPECT_EQ(value_of(ignores.forward(scores, target)), expected);
  EXPECT_EQ(cases_of(ignores.compute()), 1);
  DiceScore refuses(options, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(refusal_of([&] { refuses.update(scores, target); }),
              HasSubstr("expected preds without NaN"));
  EXPECT_EQ(refuses.update_count(), 0);
}

template <class Error = c10::ValueError>
std::string refusal_of_inputs(SegmentationFormat format,
                              const at::Tensor& preds,
                              const at::Tensor& target) {
  DiceScore dice(DiceScoreOptions(3).input_format(format));
  return testkit::refusal_of_update<Error>(dice, preds, target);
}

TEST(OverlapTest, BadInputsAreRefused) {
  const auto one_hot = SegmentationFormat::kOneHot;
  const at::Tensor labels = at::zeros({2, 4, 4}, at::kLong);
  const at::Tensor masks = at::zeros({2, 3, 4, 4}, at::kLong);
  EXPECT_THAT(refusal_of_inputs(kIndex, labels, masks),
              HasSubstr("expected preds and target [N, ...] "
                        "(input_format=index), got sizes [2, 4, 4] and "
                        "[2, 3, 4, 4]"));
  EXPECT_THAT(refusal_of_inputs(one_hot, labels, labels),
              HasSubstr("expected preds and target [N, 3, ...]"));
  EXPECT_THAT(refusal_of_inputs(kMixed, labels, labels),
              HasSubstr("expected one of preds and target [N, 3, ...]"));
  EXPECT_THAT(refusal_of_inputs(kMixed, masks, at::zeros({2, 4, 5})),
              HasSubstr("[2, 4, 5]"));
  EXPECT_THAT(refusal_of_inputs(kIndex, at::zeros({4}, at::kLong),
                                at::zeros({4}, at::kLong)),
              HasSubstr("expected preds of shape [N, ...]"));
  EXPECT_THAT(refusal_of_inputs(kIndex, labels, at::Tensor()),
              HasSubstr("target"));
  EXPECT_THAT(
      refusal_of_inputs<c10::TypeError>(kIndex, labels.to(at::kFloat), labels),
      HasSubstr("expected preds of an integer dtype, got Float"));
  EXPECT_THAT(
      refusal_of_inputs<c10::TypeError>(kMixed, masks, labels.to(at::kDouble)),
      HasSubstr("expected target of an integer dtype"));
  at::Tensor bad = labels.clone();
  bad[1][2][3] = 3;
  EXPECT_THAT(refusal_of_inputs<c10::IndexError>(kIndex, labels, bad),
              HasSubstr("expected target in [0, 3), got 3 at position 27"));
  bad[1][2][3] = -1;
  EXPECT_THAT(refusal_of_inputs<c10::IndexError>(kIndex, bad, labels),
              HasSubstr("expected preds in [0, 3), got -1 at position 27"));
  EXPECT_THAT(refusal_of_inputs<c10::IndexError>(one_hot, masks.add(2), masks),
              HasSubstr("expected preds in [0, 2), got 2 at position 0"));
  DiceScore one(DiceScoreOptions(1).input_format(kIndex));
  EXPECT_THAT(refusal_of<c10::IndexError>([&] {
                one.update(labels.to(at::kBool).logical_not(), labels);
              }),
              HasSubstr("expected preds in [0, 1), got 1"));
}

TEST(OverlapTest, LabelsOfAnyWidthAreChecked) {
  for (const at::ScalarType type :
       {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong}) {
    for (const std::int64_t classes : {2, 21, 128, 256, 300}) {
      SCOPED_TRACE(c10::str(type, " of ", classes));
      DiceScore dice(DiceScoreOptions(classes).input_format(kIndex));
      const at::Tensor good = at::full({1, 40}, 1, type);
      const auto refusal = [&](std::int64_t label) {
        at::Tensor bad = good.clone();
        bad[0][33] = label;
        return refusal_of<c10::IndexError>([&] { dice.update(good, bad); });
      };
      const auto text = [&](std::int64_t label) {
        return HasSubstr(c10::str("expected target in [0, ", classes, "), got ",
                                  label, " at position 33"));
      };
      if (type != at::kByte) {
        EXPECT_THAT(refusal(-1), text(-1));
      }
      const bool is_byte = type == at::kByte || type == at::kChar;
      if (!is_byte || classes < 128) {
        EXPECT_THAT(refusal(classes), text(classes));
        dice.update(good, good.mul(classes - 1));
      }
      if (!is_byte) {
        EXPECT_THAT(refusal(classes + 256), text(classes + 256));
      }
    }
  }
}

TEST(OverlapTest, BadOptionsAreRefused) {
  EXPECT_THAT(
      refusal_of([] { DiceScore dice(0); }),
      HasSubstr("DiceScore: expected num_classes of at least 1, got 0"));
  EXPECT_THAT(refusal_of([] { MeanIoU iou(-1); }),
              HasSubstr("expected num_classes of at least 1, got -1"));
  EXPECT_THAT(
      refusal_of([] { MeanIoU iou(MeanIoUOptions().input_format(kIndex)); }),
      HasSubstr("MeanIoU: expected num_classes"));
}

TEST(OverlapTest, NumberOfClassesFromInputsStays) {
  MeanIoU iou;
  iou.update(at::rand({2, 3, 4}), at::rand({2, 3, 4}).gt(0.5));
  EXPECT_THAT(refusal_of([&] {
                iou.update(at::rand({2, 5, 4}), at::rand({2, 5, 4}).gt(0.5));
              }),
              HasSubstr("MeanIoU"));
  EXPECT_EQ(iou.update_count(), 1);
}

}  // namespace
}  // namespace tally
