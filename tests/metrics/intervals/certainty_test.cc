// What intervals and comparisons say where the rows do not say enough.

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/balanced_accuracy.h"
#include "tally/metrics/classification/brier_score.h"
#include "tally/metrics/classification/calibration_error.h"
#include "tally/metrics/classification/cohen_kappa.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/group_fairness.h"
#include "tally/metrics/classification/matthews_corr_coef.h"
#include "tally/metrics/clustering/mutual_info_score.h"
#include "tally/metrics/features/frechet_inception_distance.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/intervals/model_comparison.h"
#include "tally/metrics/intervals/proportions.h"
#include "tally/metrics/intervals/unit_statistics.h"
#include "tally/metrics/regression/mean_absolute_error.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/metrics/retrieval/retrieval_hit_rate.h"
#include "tally/metrics/retrieval/retrieval_map.h"
#include "tally/metrics/warnings.h"
#include "tally/tests/metrics/intervals/interval_of.h"
#include "tally/tests/metrics/intervals/reference.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using Flag = IntervalFlag;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::expect_no_ends;
using testkit::interval_of;
using testkit::interval_values;
using testkit::number;
using testkit::refusal_of;

void expect_nothing_of(const Comparison& comparison) {
  EXPECT_TRUE(std::isnan(number(comparison.low)));
  EXPECT_TRUE(std::isnan(number(comparison.p_value)));
  EXPECT_FALSE(comparison.flags.empty());
}

const IntervalOptions kGrouped = IntervalOptions().grouped(true);

TEST(CertaintyTest, OneUnitSaysNothing) {
  const at::Tensor one = at::tensor({0.9}), label = at::tensor({1});
  expect_no_ends(interval_of(BinaryAveragePrecision(), {}, one, label));
  expect_no_ends(interval_of(MeanSquaredError(), {}, one, one + 1));
  const SampleIds group(at::zeros({50}, at::kLong));
  const at::Tensor x = at::arange(50, at::kDouble);
  const at::Tensor y = at::arange(50).remainder(2).add(x / 50);
  expect_no_ends(interval_of(PearsonCorrCoef(), kGrouped, group, x, y));
  expect_no_ends(interval_of(BinaryAUROC(), kGrouped, group, x / 50,
                             at::arange(50).remainder(2)));
  ModelComparison f1{BinaryF1Score()};
  f1.update(one, one - 0.8, label);
  expect_nothing_of(f1.compute().value());
  ModelComparison accuracy(BinaryAccuracy(),
                           ModelComparisonOptions().grouped(true));
  accuracy.update(group, at::ones({50}), at::zeros({50}),
                  at::ones({50}, at::kLong));
  expect_nothing_of(accuracy.compute().value());
}

TEST(CertaintyTest, NoVariationSaysNothingOfOthers) {
  const at::Tensor ones = at::ones({30}, at::kDouble);
  expect_no_ends(interval_of(MeanSquaredError(), {}, ones, ones * 2));
  expect_no_ends(interval_of(MeanSquaredError(),
                             IntervalOptions().method(IntervalMethod::kPoisson),
                             ones, ones * 2));
  // The coefficients are 0 / 0.
  const at::Tensor both = at::arange(50).remainder(2);
  const at::Tensor none = at::zeros({50}, at::kLong);
  for (const bool is_constant : {true, false}) {
    const at::Tensor& target = is_constant ? none : both;
    expect_no_ends(interval_of(BinaryMatthewsCorrCoef(), {}, none, target));
    if (!is_constant) {
      expect_no_ends(interval_of(BinaryCohenKappa(), {}, none, target));
    }
  }
  // Four rows in perfect order, and constant scores.
  ModelComparison areas{BinaryAUROC()};
  const at::Tensor labels = at::arange(4).remainder(2);
  areas.update(labels.to(at::kDouble), at::full({4}, 0.5), labels);
  expect_nothing_of(areas.compute().value());
}

TEST(CertaintyTest, AllRightHasAnExactLowerEnd) {
  const at::Tensor target =
      at::arange(60).mul(7).remainder(5).gt(2).reshape({30, 2});
  const Interval labels =
      interval_of(MultilabelAccuracy(2), {}, target, target);
  EXPECT_EQ(labels.method, IntervalMethod::kWilson);
  EXPECT_NEAR(number(labels.low), wilson_interval(30, 30, 0.95).low, 1e-12);
  EXPECT_EQ(number(labels.high), 1);

  // 10 queries whose first document is the relevant one.
  const at::Tensor queries = at::arange(10).repeat_interleave(5);
  const at::Tensor preds = at::arange(50, at::kDouble).remainder(5);
  const Interval hits =
      interval_of(RetrievalHitRate(RetrievalHitRateOptions().top_k(1)), {},
                  preds, preds.eq(4).to(at::kLong), queries);
  EXPECT_EQ(hits.method, IntervalMethod::kWilson);
  EXPECT_EQ(hits.units, 10);
  EXPECT_EQ(hits.unit, "query");
  EXPECT_NEAR(number(hits.low), wilson_interval(10, 10, 0.95).low, 1e-12);

  const Interval precision = interval_of(BinaryAveragePrecision(), {},
                                         at::arange(40, at::kDouble) / 40,
                                         at::arange(40).ge(36).to(at::kLong));
  EXPECT_EQ(precision.method, IntervalMethod::kClopperPearson);
  EXPECT_NEAR(number(precision.low), clopper_pearson_interval(4, 4, 0.95).low,
              1e-12);
  EXPECT_TRUE(precision.flags.contains(Flag::kNoVariation));
  EXPECT_TRUE(precision.flags.contains(Flag::kSmallClass));
}

TEST(CertaintyTest, AnUndefinedBlockLeavesNone) {
  // Without its only positive there is no average precision.
  const at::Tensor scores = at::arange(100, at::kDouble).mul(7).remainder(101);
  const at::Tensor target = at::arange(100).eq(40).to(at::kLong);
  for (const auto method :
       {IntervalMethod::kAuto, IntervalMethod::kJackknife}) {
    const Interval interval =
        interval_of(BinaryAveragePrecision(), IntervalOptions().method(method),
                    scores / 101, target);
    expect_no_ends(interval);
    EXPECT_TRUE(interval.flags.contains(Flag::kUndefinedBlocks));
  }
}

TEST(CertaintyTest, DrawsQueriesByTheirIndexes) {
  const at::Tensor queries = at::arange(12).repeat_interleave(6);
  const at::Tensor preds =
      at::arange(72, at::kDouble).mul(7).remainder(31) / 31;
  const at::Tensor target = at::arange(72).mul(5).remainder(7).lt(2);
  const Interval own = interval_of(RetrievalMAP(), {}, preds, target, queries);
  EXPECT_EQ(own.n, 72);
  EXPECT_EQ(own.units, 12);
  const Interval grouped = interval_of(
      RetrievalMAP(), kGrouped, SampleIds(queries), preds, target, queries);
  EXPECT_EQ(grouped.unit, "group");
  EXPECT_EQ(number(own.low), number(grouped.low));
  EXPECT_EQ(number(own.high), number(grouped.high));
  IntervalMetric documents{RetrievalMAP()};
  EXPECT_THAT(refusal_of([&] {
                documents.update(SampleIds(at::arange(72)), preds, target,
                                 queries);
              }),
              HasSubstr("expected no ids, as RetrievalMAP draws each query as "
                        "a whole, by its input indexes; for groups of them "
                        "use grouped"));
}

TEST(CertaintyTest, RowsOfWeight0ChangeNothing) {
  const at::Tensor preds =
      at::arange(40, at::kDouble).mul(7).remainder(31) / 31;
  const at::Tensor target = at::arange(40).mul(5).remainder(7).lt(3);
  const auto check = [&](const auto& metric, bool takes_labels = false) {
    const at::Tensor own = takes_labels ? preds.gt(0.5).to(at::kLong) : preds;
    const Interval plain = interval_of(metric.clone(), {}, own, target);
    const at::Tensor padding = at::full({8}, 1, own.options());
    const Interval padded =
        interval_of(metric.clone(), {}, at::cat({own, padding}),
                    at::cat({target, at::ones({8}, at::kBool)}),
                    at::cat({at::ones({40}), at::zeros({8})}));
    EXPECT_EQ(number(plain.value), number(padded.value)) << metric.repr();
    EXPECT_EQ(number(plain.low), number(padded.low)) << metric.repr();
    EXPECT_EQ(number(plain.high), number(padded.high)) << metric.repr();
    EXPECT_EQ(plain.counted, padded.counted) << metric.repr();
    EXPECT_EQ(padded.n, 48);
    EXPECT_EQ(padded.units, plain.units);
  };
  check(BinaryAccuracy());
  check(BinaryF1Score());
  check(BinaryAUROC());
  check(BinaryAveragePrecision());
  check(MeanSquaredError());
  check(MulticlassAccuracy(2), true);

  // The ids of rows that only fill a batch may be those of others.
  IntervalMetric accuracy{BinaryAccuracy()};
  const SampleIds ids(at::arange(40).remainder(39));
  const at::Tensor mask = at::arange(40).lt(39);
  accuracy.update(ids, preds, target, mask);
  EXPECT_EQ(accuracy.compute().value().counted, 39);
  accuracy.reset();
  accuracy.update(ids, preds, target);
  EXPECT_THAT(refusal_of([&] { accuracy.compute(); }),
              HasSubstr("expected each id once, got 0 again"));
}

TEST(CertaintyTest, DegreesOfFreedomFollowTheWeights) {
  const at::Tensor scores = at::arange(50, at::kDouble);
  const at::Tensor target = at::arange(50).remainder(2);
  at::Tensor weight = at::ones({50}, at::kDouble);
  weight[10] = 1e12;
  const Interval interval =
      interval_of(BinaryAUROC(BinaryAUROCOptions().input(ScoreKind::kScores)),
                  {}, scores, target, weight);
  EXPECT_GT(number(interval.high) - number(interval.low), 0.3);
  EXPECT_TRUE(interval.flags.contains(Flag::kUnevenUnits));
}

TEST(CertaintyTest, IgnoredRowsDoNotCount) {
  const at::Tensor target =
      at::cat({at::arange(10).remainder(2), at::full({40}, 7)});
  const at::Tensor preds = at::arange(50).mul(3).remainder(7).gt(2);
  const auto options = BinaryAccuracyOptions().ignore_index(7);
  const Interval wilson =
      interval_of(BinaryAccuracy(options), {}, preds, target);
  EXPECT_EQ(wilson.n, 50);
  EXPECT_EQ(wilson.counted, 10);
  const Interval jackknife = interval_of(
      BinaryAccuracy(options),
      IntervalOptions().method(IntervalMethod::kJackknife), preds, target);
  EXPECT_EQ(jackknife.units, 10);
  EXPECT_EQ(jackknife.counted, 10);
  // A proportion of units has Wilson's interval, whichever way it is found.
  EXPECT_NEAR(number(jackknife.low), number(wilson.low), 1e-12);
}

TEST(CertaintyTest, BatchesDoNotMatterWhereRowsAreIgnored) {
  constexpr std::int64_t kRows = 120;
  const at::Tensor rows = at::arange(kRows);
  const at::Tensor preds = rows.to(at::kDouble).mul(0.7).sin().abs();
  const at::Tensor target =
      at::where(rows.remainder(3).eq(0), -1, rows.mul(7).remainder(5).gt(2));
  const auto check = [&](const auto& make, std::int64_t groups) {
    std::vector<Interval> found;
    for (const std::int64_t batch : {kRows, std::int64_t{7}, std::int64_t{1}}) {
      IntervalMetric metric(
          make(),
          IntervalOptions().method(IntervalMethod::kJackknife).grouped(true));
      for (std::int64_t begin = 0; begin < kRows; begin += batch) {
        const std::int64_t count = std::min(batch, kRows - begin);
        metric.update(SampleIds(rows.remainder(groups).narrow(0, begin, count)),
                      preds.narrow(0, begin, count),
                      target.narrow(0, begin, count));
      }
      found.push_back(metric.compute().value());
    }
    for (const Interval& each : found) {
      EXPECT_NEAR(number(each.low), number(found[0].low), 1e-12);
      EXPECT_NEAR(number(each.high), number(found[0].high), 1e-12);
      EXPECT_EQ(each.counted, found[0].counted);
      EXPECT_EQ(number(each.degrees_of_freedom),
                number(found[0].degrees_of_freedom));
    }
  };
  for (const std::int64_t groups : {10, 40}) {
    check(
        [] { return BinaryAccuracy(BinaryAccuracyOptions().ignore_index(-1)); },
        groups);
    check(
        [] {
          return BinaryAveragePrecision(
              BinaryAveragePrecisionOptions().ignore_index(-1));
        },
        groups);
    check(
        [] {
          return BinaryBrierScore(BinaryBrierScoreOptions().ignore_index(-1));
        },
        groups);
  }
}

TEST(CertaintyTest, EndsStayInTheRange) {
  // Of groups, one of which has most of the errors.
  const at::Tensor groups = at::arange(6).repeat_interleave(5);
  const at::Tensor target = at::arange(30).remainder(2);
  const at::Tensor preds = at::where(groups.lt(2), 1 - target, target);
  IntervalMetric balanced(BinaryBalancedAccuracy(),
                          IntervalOptions().grouped(true));
  balanced.update(SampleIds(groups), preds, target);
  const IntervalBounds of_groups = balanced.compute().value().ends();
  EXPECT_GT(of_groups.low, 0);
  EXPECT_LT(of_groups.high, 1);
  const auto check = [](OwnedMetric metric, double low, double high,
                        const auto&... inputs) {
    const Interval interval = interval_of(std::move(metric), {}, inputs...);
    EXPECT_GE(number(interval.low), low);
    EXPECT_LE(number(interval.high), high);
    EXPECT_LT(number(interval.low), number(interval.value));
    EXPECT_LT(number(interval.value), number(interval.high));
  };
  const at::Tensor x = at::arange(10, at::kDouble);
  const at::Tensor noise = x.mul(2.1).sin().mul(0.4);
  check(PearsonCorrCoef(), -1, 1, x, x + noise);
  check(MeanSquaredError(), 0, 1e9, x, x + noise.pow(3) * 20);
  check(BinaryAveragePrecision(), 0, 1, x / 10,
        x.remainder(4).ge(2).to(at::kLong));
}

TEST(CertaintyTest, FewUnitsDecideHeavyTails) {
  const auto& each = interval_values()["hall"];
  const at::Tensor errors = testkit::tensor_of(each["values"]);
  const Interval interval =
      interval_of(MeanAbsoluteError(), {}, errors, at::zeros_like(errors));
  EXPECT_TRUE(interval.flags.contains(Flag::kHeavyTails));
  EXPECT_NEAR(number(interval.low), each["ends"][0], 1e-9);
  EXPECT_NEAR(number(interval.high), each["ends"][1], 1e-9);
}

TEST(SignFlipTest, EqualsScipysPermutations) {
  for (const auto& each : interval_values()["sign_flips"]) {
    const auto differences = each["differences"].get<std::vector<double>>();
    EXPECT_NEAR(
        internal::intervals::sign_flip_p_value(
            differences, std::vector<std::int64_t>(differences.size()), 0),
        each["p"], 1e-12);
  }
}

TEST(SignFlipTest, IsThatOfAllFlipsUpToItsError) {
  // 16 units by all flips, and 17, one of which is 0, by random ones.
  std::vector<double> differences;
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 16; ++i) {
    differences.push_back(std::sin(2.3 * i) + 0.3);
    ids.push_back(100 + i);
  }
  const double exact =
      internal::intervals::sign_flip_p_value(differences, ids, 0);
  differences.push_back(0);
  ids.push_back(7);
  const double random =
      internal::intervals::sign_flip_p_value(differences, ids, 0);
  EXPECT_NEAR(random, exact, 4 * std::sqrt(exact * (1 - exact) / 5000));
  // By id: in another order, the same.
  std::swap(differences[0], differences[9]);
  std::swap(ids[0], ids[9]);
  EXPECT_EQ(internal::intervals::sign_flip_p_value(differences, ids, 0),
            random);
}

TEST(SignFlipTest, IsThatOfMeansOfUnits) {
  // Four rows: no p-value is below 2 / 16.
  ModelComparison errors{MeanAbsoluteError()};
  errors.update(at::tensor({0.1, 0.1, 0.2, 0.1}),
                at::tensor({0.2, 0.3, 0.3, 0.2}), at::zeros({4}));
  const Comparison four = errors.compute().value();
  EXPECT_NEAR(number(four.p_value), 0.125, 1e-12);
  EXPECT_TRUE(four.flags.contains(Flag::kNoSmallP));
  EXPECT_TRUE(four.flags.contains(Flag::kFewUnits));
  // Five groups, which are exchanged as a whole.
  ModelComparison grouped(MeanAbsoluteError(),
                          ModelComparisonOptions().grouped(true));
  const at::Tensor groups = at::arange(5).repeat_interleave(4);
  const at::Tensor common = at::arange(20, at::kDouble).sin().abs();
  grouped.update(SampleIds(groups), common, common + groups.mul(0.1) + 0.1,
                 at::zeros({20}, at::kDouble));
  const Comparison five = grouped.compute().value();
  EXPECT_EQ(five.units, 5);
  EXPECT_NEAR(number(five.p_value), 2. / 32, 1e-12);
}

TEST(CertaintyTest, WarnsOnceOfWhatItFlags) {
  std::vector<std::string> warnings;
  const WarningGuard guard(
      [&](const MetricWarning& warning) { warnings.push_back(warning.name); });
  IntervalMetric error{MeanSquaredError()};
  const at::Tensor x = at::arange(4, at::kDouble);
  error.update(x, x.square());
  error.compute();
  error.compute();
  EXPECT_THAT(warnings, ElementsAre("few_units"));
  error.reset();
  error.compute();
  EXPECT_EQ(warnings.size(), 1);
}

TEST(CertaintyTest, RefusesBiasedEstimatesWithTheReason) {
  const auto refused = [](OwnedMetric metric) {
    return refusal_of([&] { IntervalMetric wrapped(std::move(metric)); });
  };
  EXPECT_THAT(refused(BinaryCalibrationError()),
              HasSubstr("BinaryCalibrationError has no interval: the gaps of "
                        "its bins"));
  EXPECT_THAT(refused(NormalizedMutualInfoScore()),
              HasSubstr("use AdjustedMutualInfoScore"));
  EXPECT_THAT(refused(RetrievalMAP(RetrievalMAPOptions().aggregation(
                  QueryAggregation::kMedian))),
              HasSubstr("RetrievalMAP has no interval: quantiles and extremes "
                        "of queries"));
  EXPECT_THAT(refused(BinaryFairness(BinaryFairnessOptions(2))),
              HasSubstr("compare groups with SliceComparison"));
  EXPECT_TRUE(interval_methods(MutualInfoScore()).empty());
}

TEST(IntervalFlagsTest, HaveNamesAndWords) {
  IntervalFlags flags{Flag::kSmallClass};
  flags.add(Flag::kFewUnits);
  flags.add(Flag::kSelected, false);
  EXPECT_EQ(flags.text(), "few_units, small_class");
  EXPECT_THAT(flags.list(), ElementsAre(Flag::kFewUnits, Flag::kSmallClass));
  for (std::size_t i = 0; i < std::size(EnumNames<Flag>::kNames); ++i) {
    EXPECT_THAT(words(static_cast<Flag>(i)), HasSubstr(": "));
  }
}

}  // namespace
}  // namespace tally
