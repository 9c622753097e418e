// Which rows, groups and classes decide a value, and what intervals say where
// these are few.

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/tests/metrics/intervals/interval_of.h"

namespace tally {
namespace {

using Flag = IntervalFlag;
using testkit::expect_no_ends;
using testkit::interval_of;
using testkit::number;

const IntervalOptions kGrouped = IntervalOptions().grouped(true);

TEST(DecidingRowsTest, GroupsWithoutPositivesDoNotDecideARecall) {
  // Positives in 4 of 40 groups.
  const at::Tensor groups = at::arange(40).repeat_interleave(20);
  const at::Tensor target = groups.lt(4).to(at::kLong);
  const at::Tensor preds = at::arange(800).mul(7).remainder(10).gt(1);
  const Interval recall =
      interval_of(BinaryRecall(), kGrouped, SampleIds(groups), preds, target);
  EXPECT_EQ(number(recall.degrees_of_freedom), 3);
  EXPECT_TRUE(recall.flags.contains(Flag::kFewUnits));
}

TEST(DecidingRowsTest, UnevenGroupsOfWhichOneDecidesSayNothing) {
  const at::Tensor groups =
      at::cat({at::full({200}, 0), at::arange(1, 20).repeat_interleave(5)});
  const at::Tensor errors = at::arange(295, at::kDouble).mul(2.1).sin();
  const Interval interval =
      interval_of(MeanSquaredError(), kGrouped, SampleIds(groups), errors,
                  at::zeros_like(errors));
  expect_no_ends(interval);
  EXPECT_TRUE(interval.flags.contains(Flag::kUnevenUnits));
}

TEST(DecidingRowsTest, RatesOfNoRowsSayNothing) {
  const IntervalOptions options =
      IntervalOptions().method(IntervalMethod::kJackknife);
  const at::Tensor preds = at::arange(40).remainder(3).eq(0).to(at::kLong);
  const Interval recall =
      interval_of(BinaryRecall(), options, preds, at::zeros({40}, at::kLong));
  expect_no_ends(recall);
  EXPECT_TRUE(recall.flags.contains(Flag::kMissingClass));
  // Class 2 is predicted, and never right.
  const at::Tensor classes = at::arange(60).remainder(3);
  const at::Tensor target = at::arange(60).remainder(2);
  const auto of = [&](Average average) {
    return interval_of(
        MulticlassRecall(MulticlassRecallOptions(3).average(average)), options,
        classes, target);
  };
  const Interval each = of(Average::kNone);
  EXPECT_TRUE(each.flags.contains(Flag::kMissingClass));
  for (const int c : {0, 1, 2}) {
    EXPECT_EQ(std::isnan(number(each.low[c])), c == 2) << c;
  }
  EXPECT_GT(number(of(Average::kWeighted).high), 0);
}

TEST(DecidingRowsTest, ClassesOfAnAverageMayBeMissing) {
  const at::Tensor target = at::arange(60).remainder(2);
  const at::Tensor preds = at::arange(60).remainder(3).clamp_max(1);
  const auto flags_of = [&](std::int64_t classes, Average average,
                            IntervalMethod method) {
    const auto options =
        MulticlassFBetaScoreOptions(classes, 2).average(average);
    return interval_of(MulticlassFBetaScore(options),
                       IntervalOptions().method(method), preds, target)
        .flags;
  };
  for (const IntervalMethod method :
       {IntervalMethod::kLogitDelta, IntervalMethod::kPoissonCells,
        IntervalMethod::kJackknife}) {
    EXPECT_TRUE(
        flags_of(3, Average::kMacro, method).contains(Flag::kMissingClass));
    EXPECT_FALSE(
        flags_of(2, Average::kMacro, method).contains(Flag::kMissingClass));
    EXPECT_FALSE(
        flags_of(3, Average::kWeighted, method).contains(Flag::kMissingClass));
  }
  const at::Tensor labels = at::stack({target, at::zeros_like(target)}, 1);
  EXPECT_TRUE(interval_of(MultilabelRecall(2), IntervalOptions(),
                          at::ones_like(labels), labels)
                  .flags.contains(Flag::kMissingClass));
}

TEST(DecidingRowsTest, UnevenClustersOfAnAreaAreFewer) {
  // One of 10 groups has most of the rows.
  const std::int64_t rows = 190;
  const at::Tensor groups =
      (at::arange(rows) - 99).clamp_min(0).floor_divide(10);
  const at::Tensor scores = at::arange(rows).mul(37).remainder(101).div(101.0);
  const at::Tensor target = at::arange(rows).remainder(3).eq(0).to(at::kLong);
  const Interval uneven =
      interval_of(BinaryAUROC(), kGrouped, SampleIds(groups), scores, target);
  EXPECT_TRUE(uneven.flags.contains(Flag::kUnevenUnits));
  EXPECT_FALSE(uneven.flags.contains(Flag::kFewUnits));
  EXPECT_LT(number(uneven.degrees_of_freedom), 4);
  EXPECT_GE(number(uneven.degrees_of_freedom), 1);
  const Interval even =
      interval_of(BinaryAUROC(), kGrouped,
                  SampleIds(at::arange(rows).floor_divide(19)), scores, target);
  EXPECT_FALSE(even.flags.contains(Flag::kUnevenUnits));
  EXPECT_GT(number(even.degrees_of_freedom), 8);
}

}  // namespace
}  // namespace tally
