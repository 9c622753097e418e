#include "tally/metrics/slices/slice_comparison.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/testing/ranks_test.h"
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
            std::int64_t step) {
  constexpr std::int64_t kBatch = 37;
  for (std::int64_t begin = first * kBatch; begin < 900;
       begin += step * kBatch) {
    const std::int64_t rows = std::min(kBatch, 900 - begin);
    const auto part = [&](const at::Tensor& all) {
      return all.narrow(0, begin, rows);
    };
    comparison.update(SliceKeys(part(data.keys)), SampleIds(part(data.ids)),
                      part(data.right), part(data.target));
  }
}

struct Expected {
  std::int64_t key, rows;
  double value, rest, difference, low, high, effect, p, q;
};

// Of tests/reference/slice_comparison.py.
constexpr Expected kExpected[] = {
    {2, 172, 0.5930232558139535, 0.842032967032967, -0.2490097112190135,
     -0.35002994154579303, -0.14798948089223396, -0.48524473574561316,
     5.578154923206817e-05, 0.0002789077461603409},
    {9, 300, 0.84, 0.7716666666666666, 0.06833333333333336,
     0.008221232176849204, 0.12844543448981752, 0.16824025561410158,
     0.027983914463570632, 0.06995978615892658},
    {1, 171, 0.8421052631578947, 0.7832647462277091, 0.05884051693018555,
     -0.01339259771248863, 0.13107363157285973, 0.14486844305561394,
     0.1044988337324025, 0.13062354216550312},
    {4, 171, 0.847953216374269, 0.7818930041152263, 0.06606021225904268,
     -0.006172902383631496, 0.13829332690171686, 0.16264371214219236,
     0.0707837468077443, 0.1179729113462405},
    {0, 86, 0.8372093023255814, 0.7899262899262899, 0.04728301239929156,
     -0.0652578983601602, 0.15982392315874333, 0.10623641954898172,
     0.3901901553547165, 0.3901901553547165},
};

void expect_expected(const std::vector<ComparedSlice>& slices) {
  ASSERT_EQ(slices.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const Expected& wanted = kExpected[i];
    const ComparedSlice& slice = slices[i];
    EXPECT_EQ(slice.name(), std::to_string(wanted.key));
    EXPECT_EQ(slice.rows, wanted.rows);
    EXPECT_NEAR(slice.value, wanted.value, 1e-12);
    EXPECT_NEAR(slice.rest, wanted.rest, 1e-12);
    EXPECT_NEAR(slice.difference, wanted.difference, 1e-12);
    EXPECT_NEAR(slice.low, wanted.low, 1e-9);
    EXPECT_NEAR(slice.high, wanted.high, 1e-9);
    EXPECT_NEAR(slice.effect, wanted.effect, 1e-9);
    EXPECT_NEAR(slice.p_value, wanted.p, 1e-9);
    EXPECT_NEAR(slice.q_value, wanted.q, 1e-9);
  }
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

TEST(SliceComparisonTest, SmallSlicesAndUndefinedValuesAreNotRanked) {
  const at::Tensor ids = at::arange(200);
  const at::Tensor keys = at::where(ids.lt(29), 0, ids.remainder(2).add(1));
  const at::Tensor scores = ids.mul(37).remainder(101).to(at::kDouble).div(101);
  // Slice 2 has no positives.
  const at::Tensor target =
      ids.mul(13).remainder(3).eq(0).logical_and(keys.ne(2)).to(at::kLong);
  SliceComparison comparison{BinaryAUROC()};
  comparison.update(SliceKeys(keys), SampleIds(ids), scores, target);
  const auto slices = comparison.compute();
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].name(), "1");
  EXPECT_TRUE(std::isnan(slices[1].value));
  EXPECT_TRUE(std::isnan(slices[1].q_value));
  EXPECT_TRUE(std::isnan(slices[1].high));

  // A slice of nearly all rows is compared with the few others; one of all, or
  // too few others, with nothing.
  const auto count = [&](std::int64_t few) {
    SliceComparison each{BinaryAccuracy()};
    each.update(SliceKeys(ids.lt(few)), SampleIds(ids), target, target.mul(0));
    return each.compute().size();
  };
  EXPECT_EQ(count(30), 2u);
  EXPECT_EQ(count(29), 0u);
  EXPECT_EQ(count(0), 0u);
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
  EXPECT_THROW(comparison.update(SliceKeys(two), SampleIds(at::arange(2)), two,
                                 at::full({2}, 7, at::kLong)),
               c10::IndexError);
  expect_expected(comparison.compute());
}

}  // namespace
}  // namespace tally
