#include "tally/metrics/slices/slice_comparison.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/calibration_error.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/regression/max_error.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/quantile_scores.h"
#include "tally/metrics/retrieval/retrieval_mrr.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/message_of.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using testkit::refusal_of;

struct Data {
  at::Tensor ids = at::arange(900);
  at::Tensor keys =
      at::where(ids.remainder(3).eq(0), 9, ids.mul(ids).remainder(7));
  at::Tensor right = ids.mul(7919)
                         .remainder(101)
                         .lt(at::where(keys.eq(2), 60, 85))
                         .to(at::kLong);
  at::Tensor target = at::ones({900}, at::kLong);
};

/// Every `step`-th batch of rows from `first` on.
void update(SliceComparison& comparison, const Data& data, std::int64_t first,
            std::int64_t step, const at::Tensor& ids) {
  constexpr std::int64_t kBatch = 37;
  for (std::int64_t begin = first * kBatch; begin < 900;
       begin += step * kBatch) {
    const std::int64_t rows = std::min(kBatch, 900 - begin);
    const auto part = [&](const at::Tensor& all) {
      return all.narrow(0, begin, rows);
    };
    comparison.update(SliceKeys(part(data.keys)), SampleIds(part(ids)),
                      part(data.right), part(data.target));
  }
}
void update(SliceComparison& comparison, const Data& data, std::int64_t first,
            std::int64_t step) {
  update(comparison, data, first, step, data.ids);
}

struct Expected {
  std::int64_t key, rows, units;
  double value, rest, difference, low, high, standard_error, degrees, effect, p,
      q;
};

// Of tests/reference/slice_comparison.py.
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Expected kExpected[] = {
    {2, 172, 172, 0.5930232558139535, 0.842032967032967, -0.2490097112190135,
     -0.32765789331448236, -0.17294887725283453, 0.039823223359335864,
     kInfinity, -0.5755545500942524, 9.344081064455168e-12,
     4.672040532227584e-11},
    {1, 171, 171, 0.8421052631578947, 0.7832647462277091, 0.05884051693018555,
     -0.009425696876578418, 0.11538244928629565, 0.034465252457850315,
     kInfinity, 0.1441876030298549, 0.0832682466248911, 0.10408530828111387},
    {0, 86, 86, 0.8372093023255814, 0.7899262899262899, 0.04728301239929156,
     -0.04858458753258703, 0.11701319732445321, 0.0458554989942186, kInfinity,
     0.11653607832961495, 0.3060126198026413, 0.3060126198026413},
    {9, 300, 300, 0.84, 0.7716666666666666, 0.06833333333333336,
     0.012624331241921118, 0.11954491019263147, 0.028948291846377486, kInfinity,
     0.16585474933248456, 0.015777052966995875, 0.03944263241748969},
    {4, 171, 171, 0.847953216374269, 0.7818930041152263, 0.06606021225904268,
     -0.0016268986697429016, 0.12186549721994522, 0.03448067677696514,
     kInfinity, 0.16169126364288197, 0.05084781783894318, 0.08474636306490531},
};
constexpr Expected kOfGroups[] = {
    {2, 172, 129, 0.5930232558139535, 0.842032967032967, -0.2490097112190135,
     -0.3159717213768305, -0.18204770106119653, 0.03199237922355409,
     18.995008821877068, -0.7300084554986634, 2.5178142840344575e-07,
     1.2589071420172289e-06},
    {9, 300, 150, 0.84, 0.7716666666666666, 0.06833333333333336,
     0.02884532783932789, 0.10782133882733883, 0.019260038340282566,
     27.45057317154923, 0.2508767767093234, 0.0014195527816186905,
     0.0035488819540467264},
    {4, 171, 107, 0.847953216374269, 0.7818930041152263, 0.06606021225904268,
     0.011814423122952153, 0.12030600139513321, 0.02538056415844914,
     14.543122732101716, 0.22865128444478494, 0.020371539987282698,
     0.033952566645471166},
    {0, 86, 86, 0.8372093023255814, 0.7899262899262899, 0.04728301239929156,
     -0.040796643731494775, 0.1353626685300779, 0.04131857518660253,
     14.978136658742793, 0.14482853547954425, 0.2704362384498823,
     0.2704362384498823},
    {1, 171, 150, 0.8421052631578947, 0.7832647462277091, 0.05884051693018555,
     -0.017698529178975117, 0.13537956303934623, 0.03608334848775071,
     15.883143050965003, 0.15741802672754335, 0.1226241350956673,
     0.15328016886958412},
};

void expect_all(const std::vector<ComparedSlice>& slices,
                const Expected (&expected)[5]) {
  ASSERT_EQ(slices.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const Expected& wanted = expected[i];
    const ComparedSlice& slice = slices[i];
    EXPECT_EQ(slice.name(), std::to_string(wanted.key));
    EXPECT_EQ(slice.rows, wanted.rows);
    EXPECT_EQ(slice.units, wanted.units);
    EXPECT_NEAR(slice.value, wanted.value, 1e-12);
    EXPECT_NEAR(slice.rest, wanted.rest, 1e-12);
    EXPECT_NEAR(slice.difference, wanted.difference, 1e-12);
    EXPECT_NEAR(slice.low, wanted.low, 1e-9);
    EXPECT_NEAR(slice.high, wanted.high, 1e-9);
    EXPECT_NEAR(slice.standard_error, wanted.standard_error, 1e-9);
    EXPECT_DOUBLE_EQ(slice.degrees_of_freedom, wanted.degrees);
    EXPECT_NEAR(slice.effect, wanted.effect, 1e-9);
    EXPECT_NEAR(slice.p_value, wanted.p, 1e-9 * wanted.p + 1e-15);
    EXPECT_NEAR(slice.q_value, wanted.q, 1e-9 * wanted.q + 1e-15);
    EXPECT_TRUE(slice.flags.empty()) << slice.flags.text();
  }
}

void expect_expected(const std::vector<ComparedSlice>& slices) {
  expect_all(slices, kExpected);
}

TEST(SliceComparisonTest, ComparesWithTheRest) {
  SliceComparison comparison{BinaryAccuracy()};
  update(comparison, Data(), 0, 1);
  expect_expected(comparison.compute());
  expect_expected(comparison.compute());
  comparison.reset();
  EXPECT_TRUE(comparison.compute().empty());
}

RANKS_TEST(SliceComparisonRanksTest, NumberOfRanksDoesNotShow, 1, 2, 3, 5) {
  SliceComparison comparison{BinaryAccuracy()};
  update(comparison, Data(), self.rank(), self.size());
  expect_expected(comparison.compute());
  // All rows on the last rank.
  SliceComparison one{BinaryAccuracy()};
  if (self.rank() + 1 == self.size()) update(one, Data(), 0, 1);
  expect_expected(one.compute());
}

TEST(SliceComparisonTest, TheWorstComesFirstWhereLessIsBetter) {
  const at::Tensor ids = at::arange(400), keys = ids.remainder(4);
  const at::Tensor target = ids.mul(37).remainder(101).div(101);
  const at::Tensor error = at::where(keys.eq(3), 2.0, 0.5);
  SliceComparison comparison{MeanSquaredError()};
  const at::Tensor preds = target.add(error.mul(ids.sin()));
  comparison.update(SliceKeys(keys), SampleIds(ids),
                    {{"target", target}, {"preds", preds}});
  const auto slices = comparison.compute();
  ASSERT_EQ(slices.size(), 4u);
  EXPECT_EQ(slices[0].name(), "3");
  EXPECT_GT(slices[0].low, 0);
  EXPECT_LT(slices[0].q_value, 1e-3);
}

SliceComparisonOptions grouped() {
  return SliceComparisonOptions().grouped(true);
}

RANKS_TEST(SliceComparisonRanksTest, GroupsAreDrawnAsAWhole, 1, 2, 3, 5) {
  const Data data;
  SliceComparison comparison{BinaryAccuracy(), grouped()};
  update(comparison, data, self.rank(), self.size(), data.ids.floor_divide(6));
  expect_all(comparison.compute(), kOfGroups);
}

RANKS_TEST(SliceComparisonRanksTest, AnIdThatRepeatsIsRefused, 1, 2) {
  const Data data;
  SliceComparison comparison{BinaryAccuracy()};
  // Row 850 again, on another rank than row 3.
  update(comparison, data, self.rank(), self.size(),
         at::where(data.ids.eq(850), 3, data.ids));
  const std::string refusal = refusal_of([&] { comparison.compute(); });
  EXPECT_NE(refusal.find("SliceComparison: expected each id once, got 3 again; "
                         "rows that belong together need grouped"),
            std::string::npos)
      << refusal;
}

TEST(SliceComparisonTest, RowsThatDecideCount) {
  const at::Tensor ids = at::arange(300), keys = ids.remainder(3);
  // Slice 0 has no positives and is all right, slice 1 has 25, slice 2 all.
  const at::Tensor target =
      keys.eq(2).logical_or(keys.eq(1).logical_and(ids.lt(75))).to(at::kLong);
  const at::Tensor preds = target.mul(ids.remainder(5).ne(0)).to(at::kDouble);
  const auto names = [&](auto metric, std::int64_t min_rows) {
    SliceComparison comparison{std::move(metric),
                               SliceComparisonOptions().min_rows(min_rows)};
    comparison.update(SliceKeys(keys), SampleIds(ids), preds, target);
    std::string found;
    for (const ComparedSlice& slice : comparison.compute()) {
      found += slice.name();
      EXPECT_FALSE(std::isnan(slice.q_value));
    }
    return found;
  };
  EXPECT_EQ(names(BinaryRecall(), 30), "");  // 25 others
  EXPECT_EQ(names(BinaryRecall(), 25).size(), 2u);
  EXPECT_EQ(names(BinaryRecall(), 2).find('0'), std::string::npos);
  EXPECT_EQ(names(BinaryF1Score(), 2).find('0'), std::string::npos);
  EXPECT_EQ(names(BinaryAUROC(), 2), "1");  // the others have one class
  EXPECT_EQ(names(BinaryAccuracy(), 30).size(), 3u);

  // A slice of nearly all rows is compared with the few others; one of all, or
  // too few others, with nothing.
  const auto count = [&](std::int64_t few) {
    SliceComparison each{BinaryAccuracy()};
    each.update(SliceKeys(ids.lt(few)), SampleIds(ids), preds, target);
    return each.compute().size();
  };
  EXPECT_EQ(count(30), 2u);
  EXPECT_EQ(count(29), 0u);
  EXPECT_EQ(count(0), 0u);
}

TEST(SliceComparisonTest, SlicesHaveIntervalsOfTheirOwn) {
  const Data data;
  const at::Tensor groups = data.ids.floor_divide(6);
  const auto own = [&](bool are_grouped) {
    SliceComparison comparison{BinaryAccuracy(),
                               SliceComparisonOptions().grouped(are_grouped)};
    update(comparison, data, 0, 1, are_grouped ? groups : data.ids);
    return comparison.compute()[0];
  };
  const at::Tensor slice = data.keys.eq(2);
  IntervalMetric interval{BinaryAccuracy()};
  interval.update(data.right.masked_select(slice),
                  data.target.masked_select(slice));
  const IntervalBounds wilson = interval.compute().value().ends();
  EXPECT_NEAR(own(false).value_low, wilson.low, 1e-12);
  EXPECT_NEAR(own(false).value_high, wilson.high, 1e-12);
  const ComparedSlice grouped_slice = own(true);
  EXPECT_LT(grouped_slice.value_low, grouped_slice.value);
  EXPECT_GT(grouped_slice.value_high, grouped_slice.value);
  EXPECT_NEAR(grouped_slice.value_high - grouped_slice.value_low,
              wilson.high - wilson.low, 0.05);
}

TEST(SliceComparisonTest, NoVariationIsNoCertainty) {
  const at::Tensor ids = at::arange(120), keys = ids.lt(40).to(at::kLong);
  const at::Tensor target = at::ones({120}, at::kLong);
  const at::Tensor preds = ids.lt(40).logical_or(ids.remainder(4).ne(0));
  SliceComparison comparison{BinaryAccuracy()};
  comparison.update(SliceKeys(keys), SampleIds(ids), preds.to(at::kLong),
                    target);
  for (const ComparedSlice& slice : comparison.compute()) {
    if (slice.name() != "1") continue;
    EXPECT_EQ(slice.value, 1);
    EXPECT_EQ(slice.difference, 0.25);
    // 40 of 40 against 60 of 80: SciPy's Wilson intervals, put together.
    EXPECT_NEAR(slice.low, 0.13003613613420215, 1e-12);
    EXPECT_NEAR(slice.high, 0.3548467461923398, 1e-12);
    EXPECT_GT(slice.standard_error, 0.05);
    EXPECT_TRUE(slice.flags.contains(IntervalFlag::kNoVariation));
  }
  // No difference of F1 scores is outside [-1, 1].
  SliceComparison f1{BinaryF1Score()};
  f1.update(SliceKeys(keys), SampleIds(ids), keys, target);
  for (const ComparedSlice& slice : f1.compute()) {
    EXPECT_GE(slice.low, -1);
    EXPECT_LE(slice.high, 1);
    EXPECT_LT(slice.low, slice.high);
  }
}

TEST(SliceComparisonTest, AUnitAloneSaysNothing) {
  const at::Tensor ids = at::arange(400), keys = ids.lt(50).to(at::kLong);
  // Slice 1 is one patient, slice 0 seven.
  SliceComparison comparison{BinaryAccuracy(), grouped()};
  comparison.update(SliceKeys(keys), SampleIds(ids.floor_divide(50)),
                    ids.remainder(3).ne(0).to(at::kLong),
                    at::ones({400}, at::kLong));
  const auto slices = comparison.compute();
  ASSERT_EQ(slices.size(), 2u);
  for (const ComparedSlice& slice : slices) {
    EXPECT_EQ(slice.units, slice.name() == "1" ? 1 : 7);
    EXPECT_TRUE(std::isnan(slice.low) && std::isnan(slice.high));
    EXPECT_TRUE(std::isnan(slice.p_value) && std::isnan(slice.q_value));
    EXPECT_TRUE(slice.flags.contains(IntervalFlag::kFewUnits));
  }
}

TEST(SliceComparisonTest, ABlockThatDecidesIsNoInterval) {
  const at::Tensor ids = at::arange(400), keys = ids.remainder(2);
  // All positives of slice 1 are one patient's.
  const at::Tensor groups = ids.floor_divide(40);
  const at::Tensor target = keys.eq(0).logical_or(groups.eq(3)).to(at::kLong);
  SliceComparison comparison{BinaryRecall(), grouped().min_rows(10)};
  comparison.update(SliceKeys(keys), SampleIds(groups),
                    ids.remainder(7).ne(0).to(at::kLong), target);
  const auto slices = comparison.compute();
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_TRUE(std::isnan(slices[1].q_value) && std::isnan(slices[1].low));
  EXPECT_TRUE(slices[1].flags.contains(IntervalFlag::kUndefinedBlocks));
}

TEST(SliceComparisonTest, WeightsAreNoProportions) {
  const Data data;
  const at::Tensor weight = data.ids.remainder(2).add(1);
  SliceComparison comparison{BinaryAccuracy()};
  comparison.update(SliceKeys(data.keys), SampleIds(data.ids), data.right,
                    data.target, weight);
  SliceComparison named{BinaryAccuracy()};
  named.update(
      SliceKeys(data.keys), SampleIds(data.ids),
      {{"weight", weight}, {"target", data.target}, {"preds", data.right}});
  const auto slices = comparison.compute();
  const auto same = named.compute();
  ASSERT_EQ(slices.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_LT(slices[i].degrees_of_freedom, 40);
    EXPECT_EQ(slices[i].p_value, same[i].p_value);
  }
}

TEST(SliceComparisonTest, RowsOfWeightZeroChangeNothing) {
  const Data data;
  for (const bool grouped : {false, true}) {
    SliceComparison comparison(BinaryAccuracy(),
                               SliceComparisonOptions().grouped(grouped));
    comparison.update(SliceKeys(data.keys), SampleIds(data.ids), data.right,
                      data.target, at::ones_like(data.right));
    const auto expected = comparison.compute();
    ASSERT_EQ(expected.size(), 5u);
    // Of any id, in a slice that is there, and in two that are not.
    const at::Tensor fill = at::arange(600, at::kLong);
    const at::Tensor keys = fill.remainder(3).mul(77).add(1);
    const at::Tensor zeros = at::zeros_like(fill);
    comparison.update(SliceKeys(keys), SampleIds(fill), zeros, zeros, zeros);
    const auto filled = comparison.compute();
    ASSERT_EQ(filled.size(), expected.size());
    for (std::size_t i = 0; i < filled.size(); ++i) {
      SCOPED_TRACE(expected[i].name());
      EXPECT_EQ(filled[i].name(), expected[i].name());
      EXPECT_EQ(filled[i].units, expected[i].units);
      EXPECT_DOUBLE_EQ(filled[i].low, expected[i].low);
      EXPECT_DOUBLE_EQ(filled[i].high, expected[i].high);
      EXPECT_DOUBLE_EQ(filled[i].effect, expected[i].effect);
      EXPECT_DOUBLE_EQ(filled[i].q_value, expected[i].q_value);
      EXPECT_EQ(filled[i].flags, expected[i].flags);
    }
  }
}

TEST(SliceComparisonTest, QueriesAreWhole) {
  // 80 queries of 5 documents; in the last slice the relevant one comes last.
  const at::Tensor rows = at::arange(400), queries = rows.floor_divide(5);
  const at::Tensor keys = queries.remainder(2);
  const at::Tensor place = rows.remainder(5);
  const at::Tensor target =
      place.eq(at::where(keys.eq(1), 4, queries.remainder(3))).to(at::kLong);
  const at::Tensor preds = place.neg().to(at::kDouble);
  SliceComparison comparison{RetrievalMRR()};
  EXPECT_FALSE(comparison.takes_ids());
  comparison.update(SliceKeys(keys.narrow(0, 0, 202)), preds.narrow(0, 0, 202),
                    target.narrow(0, 0, 202), queries.narrow(0, 0, 202));
  comparison.update(SliceKeys(keys.narrow(0, 202, 198)),
                    {{"indexes", queries.narrow(0, 202, 198)},
                     {"preds", preds.narrow(0, 202, 198)},
                     {"target", target.narrow(0, 202, 198)}});
  const auto slices = comparison.compute();
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].name(), "1");
  EXPECT_EQ(slices[0].rows, 200);
  EXPECT_EQ(slices[0].units, 40);
  EXPECT_DOUBLE_EQ(slices[0].value, 0.2);
  EXPECT_LT(slices[0].q_value, 1e-5);
  EXPECT_EQ(
      refusal_of([&] {
        comparison.update(SliceKeys(keys), SampleIds(rows), preds, target,
                          queries);
      }),
      "SliceComparison: expected no ids, as RetrievalMRR draws each query "
      "as a whole, by its input indexes; for groups of them use grouped");
  SliceComparison users(RetrievalMRR(), grouped());
  users.update(SliceKeys(keys), SampleIds(queries.floor_divide(4)), preds,
               target, queries);
  EXPECT_EQ(users.compute()[0].units, 20);
  EXPECT_STREQ(users.unit(), "group");
  SliceComparison divided{RetrievalMRR()};
  divided.update(SliceKeys(rows.remainder(2)), preds, target, queries);
  EXPECT_EQ(refusal_of([&] { divided.compute(); }),
            "SliceComparison: expected each query in one slice, got query 0 in "
            "'0' and '1'");
}

TEST(SliceComparisonTest, StatesWithoutIdsAreRefused) {
  SliceComparison comparison{BinaryAccuracy()};
  const absl::Status status =
      comparison.load("tests/metrics/data/slice_comparison.tally");
  EXPECT_EQ(testkit::message_of(status),
            "the checkpoint holds the rows of SliceComparison; expected those "
            "of 'BinaryAccuracy', 'ids of rows'");
}

TEST(SliceComparisonTest, EqualSlicesDoNotDiffer) {
  const at::Tensor ids = at::arange(200);
  SliceComparison comparison{BinaryAccuracy()};
  comparison.update(SliceKeys(ids.remainder(2)), SampleIds(ids),
                    at::ones({200}, at::kLong), at::ones({200}, at::kLong));
  const auto slices = comparison.compute();
  ASSERT_EQ(slices.size(), 2u);
  for (const ComparedSlice& slice : slices) {
    EXPECT_EQ(slice.difference, 0);
    EXPECT_EQ(slice.effect, 0);
    EXPECT_EQ(slice.p_value, 1);
    EXPECT_EQ(slice.q_value, 1);
  }
}

TEST(SliceComparisonTest, TheLargestAreCompared) {
  SliceComparison comparison{BinaryAccuracy(),
                             SliceComparisonOptions().largest(2)};
  update(comparison, Data(), 0, 1);
  const auto slices = comparison.compute();
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].name(), "2");
  EXPECT_EQ(slices[1].name(), "9");
  EXPECT_NEAR(slices[0].rest, kExpected[0].rest, 1e-12);
}

TEST(SliceComparisonTest, SaysWhatIsWrong) {
  using Options = SliceComparisonOptions;
  EXPECT_EQ(refusal_of([] { SliceComparison each{MeanMetric()}; }),
            "SliceComparison: expected a metric for which higher or lower "
            "values are better, got " +
                MeanMetric().repr());
  EXPECT_EQ(refusal_of([] {
              SliceComparison each{MulticlassAccuracy(
                  MulticlassAccuracyOptions(3).average(Average::kNone))};
            }).substr(0, 63),
            "SliceComparison: expected a metric whose result is one number, ");
  // Their bias in a small slice would be a difference.
  EXPECT_EQ(refusal_of([] {
              SliceComparison each{BinaryCalibrationError()};
            }).substr(0, 64),
            "SliceComparison: BinaryCalibrationError has no interval: the gap");
  EXPECT_EQ(refusal_of([] { SliceComparison each{MaxError()}; }).substr(0, 42),
            "SliceComparison: MaxError has no interval:");
  EXPECT_EQ(refusal_of([] { SliceComparison each{MedianAbsoluteError()}; }),
            "SliceComparison: MedianAbsoluteError is not compared: the "
            "jackknife does "
            "not hold for quantiles; use a mean");
  const auto refused = [](const Options& options) {
    return refusal_of([&] { SliceComparison each(BinaryAccuracy(), options); });
  };
  EXPECT_EQ(refused(Options().min_rows(1)),
            "SliceComparison: expected min_rows to be at least 2, got 1");
  EXPECT_EQ(refused(Options().largest(0)),
            "SliceComparison: expected largest and max_slices to be at least "
            "1, got 0 and 10000");
  EXPECT_EQ(refused(Options().max_slices(0)),
            "SliceComparison: expected largest and max_slices to be at least "
            "1, got 200 and 0");
  EXPECT_EQ(refused(Options().level(1)),
            "SliceComparison: expected a level in (0, 1), got 1");
  SliceComparison comparison{BinaryAccuracy()};
  update(comparison, Data(), 0, 1);
  const at::Tensor two = at::ones({2}, at::kLong);
  EXPECT_EQ(refusal_of([&] {
              comparison.update(SliceKeys(two), SampleIds(at::arange(3)), two,
                                two);
            }),
            "SliceComparison: expected an id for each of 2 keys, got 3");
  EXPECT_EQ(refusal_of([&] { comparison.update(SliceKeys(two), two, two); }),
            "SliceComparison: expected ids, one for each row");
  EXPECT_THROW(comparison.update(SliceKeys(two), SampleIds(at::arange(2)), two,
                                 at::full({2}, 7, at::kLong)),
               c10::IndexError);
  expect_expected(comparison.compute());
}

}  // namespace
}  // namespace tally
