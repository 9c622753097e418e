#include "tally/metrics/intervals/interval_metric.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/aggregation/sum_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/balanced_accuracy.h"
#include "tally/metrics/classification/cohen_kappa.h"
#include "tally/metrics/classification/exact_match.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/jaccard_index.h"
#include "tally/metrics/classification/matthews_corr_coef.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/proportions.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/quantile_scores.h"
#include "tally/metrics/resampling/jackknife.h"
#include "tally/metrics/resampling/philox.h"
#include "tally/tests/metrics/intervals/reference.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::interval_values;
using testkit::refusal_of;
using testkit::tensor_of;

double number(const at::Tensor& tensor) { return tensor.item<double>(); }

void expect_ends(const Interval& interval, double low, double high,
                 double tolerance = 1e-12) {
  EXPECT_NEAR(number(interval.low), low, tolerance);
  EXPECT_NEAR(number(interval.high), high, tolerance);
}

/// preds and target with these counts.
std::pair<at::Tensor, at::Tensor> rows_of(const nlohmann::json& matrix) {
  std::vector<std::int64_t> preds, target;
  for (std::size_t t = 0; t < matrix.size(); ++t) {
    for (std::size_t p = 0; p < matrix[t].size(); ++p) {
      for (int i = 0; i < matrix[t][p]; ++i) {
        target.push_back(static_cast<std::int64_t>(t));
        preds.push_back(static_cast<std::int64_t>(p));
      }
    }
  }
  return {at::tensor(preds), at::tensor(target)};
}

const nlohmann::json kTwo = {{70, 5}, {6, 30}};
const nlohmann::json kThree = {{40, 5, 3}, {7, 30, 2}, {0, 4, 25}};

Interval interval_of(OwnedMetric metric, const nlohmann::json& matrix,
                     const IntervalOptions& options = {}) {
  IntervalMetric wrapped(std::move(metric), options);
  const auto [preds, target] = rows_of(matrix);
  wrapped.update(preds, target);
  return wrapped.compute().value();
}

TEST(IntervalMetricTest, IsWilsonsForProportions) {
  const Interval accuracy = interval_of(BinaryAccuracy(), kTwo);
  EXPECT_EQ(accuracy.method, IntervalMethod::kWilson);
  EXPECT_EQ(accuracy.n, 111);
  EXPECT_EQ(accuracy.replicates, 0);
  EXPECT_EQ(accuracy.level, 0.95);
  EXPECT_DOUBLE_EQ(number(accuracy.value), 100. / 111);
  EXPECT_NEAR(number(accuracy.standard_error),
              std::sqrt(100. / 111 * 11 / 111 / 111), 1e-9);
  const IntervalBounds wilson = wilson_interval(100, 111, 0.95);
  expect_ends(accuracy, wilson.low, wilson.high);
  const Interval exact = interval_of(
      BinaryAccuracy(), kTwo,
      IntervalOptions().level(0.9).method(IntervalMethod::kClopperPearson));
  const IntervalBounds wide = clopper_pearson_interval(100, 111, 0.9);
  expect_ends(exact, wide.low, wide.high);
}

TEST(IntervalMetricTest, IsThatOfJaccardForF1) {
  const Interval f1 = interval_of(BinaryF1Score(), kTwo);
  const IntervalBounds jaccard = wilson_interval(30, 41, 0.95);
  expect_ends(f1, 2 * jaccard.low / (1 + jaccard.low),
              2 * jaccard.high / (1 + jaccard.high));
  expect_ends(interval_of(BinaryJaccardIndex(), kTwo), jaccard.low,
              jaccard.high);
}

TEST(IntervalMetricTest, HasAnIntervalForEachClass) {
  const Interval recalls = interval_of(
      MulticlassAccuracy(MulticlassAccuracyOptions(3).average(Average::kNone)),
      kThree);
  for (const auto& [c, hits, all] :
       {std::tuple{0, 40, 48}, {1, 30, 39}, {2, 25, 29}}) {
    const IntervalBounds wilson = wilson_interval(hits, all, 0.95);
    EXPECT_NEAR(number(recalls.low[c]), wilson.low, 1e-12);
    EXPECT_NEAR(number(recalls.high[c]), wilson.high, 1e-12);
  }
  const Interval micro = interval_of(
      MulticlassF1Score(MulticlassF1ScoreOptions(3).average(Average::kMicro)),
      kThree);
  const IntervalBounds wilson = wilson_interval(95, 116, 0.95);
  expect_ends(micro, wilson.low, wilson.high);
  const Interval overlap = interval_of(
      MulticlassJaccardIndex(
          MulticlassJaccardIndexOptions(3).average(Average::kMicro)),
      kThree);
  EXPECT_NEAR(number(overlap.value), 95. / (2 * 116 - 95), 1e-12);
  expect_ends(overlap, wilson.low / (2 - wilson.low),
              wilson.high / (2 - wilson.high));
}

TEST(IntervalMetricTest, CountsLabelsAndSamplesSeparately) {
  const at::Tensor target = at::tensor({1, 0, 1, 1, 0, 1}).reshape({3, 2});
  const at::Tensor preds = at::tensor({1, 0, 0, 1, 0, 1}).reshape({3, 2});
  IntervalMetric labels(
      MultilabelAccuracy(MultilabelAccuracyOptions(2).average(Average::kNone)));
  labels.update(preds, target);
  const Interval each = labels.compute().value();
  EXPECT_NEAR(number(each.low[0]), wilson_interval(2, 3, 0.95).low, 1e-12);
  EXPECT_NEAR(number(each.low[1]), wilson_interval(3, 3, 0.95).low, 1e-12);
  IntervalMetric exact{MultilabelExactMatch(2)};
  exact.update(preds, target);
  expect_ends(exact.compute().value(), wilson_interval(2, 3, 0.95).low,
              wilson_interval(2, 3, 0.95).high);
}

OwnedMetric metric_named(const std::string& name, bool three) {
  if (name == "macro_f1") return MulticlassF1Score(3);
  if (name == "f_half") return BinaryFBetaScore(0.5);
  if (name == "mcc" && three) return MulticlassMatthewsCorrCoef(3);
  if (name == "mcc") return BinaryMatthewsCorrCoef();
  if (three) return MulticlassCohenKappa(3);
  return BinaryCohenKappa();
}

TEST(IntervalMetricTest, IsTheDeltaMethodForOtherCounts) {
  for (const auto& each : interval_values()["deltas"]) {
    SCOPED_TRACE(each.dump());
    const bool three = each["matrix"].size() == 3;
    const Interval interval =
        interval_of(metric_named(each["name"], three), each["matrix"],
                    IntervalOptions().method(IntervalMethod::kLogitDelta));
    EXPECT_EQ(interval.method, IntervalMethod::kLogitDelta);
    EXPECT_NEAR(number(interval.value), each["value"], 1e-12);
    EXPECT_NEAR(number(interval.standard_error), each["error"], 1e-8);
    expect_ends(interval, each["ends"][0], each["ends"][1], 1e-7);
    // Replicates agree up to their own error.
    const Interval drawn =
        interval_of(metric_named(each["name"], three), each["matrix"],
                    IntervalOptions()
                        .method(IntervalMethod::kPoissonCells)
                        .replicates(4000));
    const double error = each["error"];
    EXPECT_EQ(drawn.replicates, 4000);
    EXPECT_NEAR(number(drawn.standard_error), error, 0.1 * error);
    expect_ends(drawn, each["ends"][0], each["ends"][1], 0.4 * error);
  }
}

TEST(IntervalMetricTest, CorrectsReplicatesForSkewness) {
  const IntervalOptions options =
      IntervalOptions().ends(ReplicateInterval::kBca).replicates(4000);
  const Interval bca = interval_of(BinaryF1Score(), kTwo, options);
  EXPECT_EQ(bca.method, IntervalMethod::kPoissonCells);
  const Interval wilson = interval_of(BinaryF1Score(), kTwo);
  expect_ends(bca, number(wilson.low), number(wilson.high), 0.015);
}

TEST(IntervalMetricTest, DrawsRowsByClass) {
  const auto options = IntervalOptions().stratified(true).replicates(4000);
  const nlohmann::json matrix = {{60, 10}, {5, 25}};
  const Interval drawn = interval_of(BinaryF1Score(), matrix, options);
  EXPECT_EQ(drawn.method, IntervalMethod::kPoissonCells);
  // F = 2 TP / (TP + FP + 30) of binomial TP of 30 and FP of 70.
  const double of_tp = 2. * 40 / (65 * 65);
  const double of_fp = 2. * 25 / (65 * 65);
  const double error = std::sqrt(of_tp * of_tp * 30 * (25. * 5 / 900) +
                                 of_fp * of_fp * 70 * (10. * 60 / 4900));
  EXPECT_NEAR(number(drawn.standard_error), error, 0.05 * error);
  // Of classes, one of which has no rows.
  const Interval macro = interval_of(
      MulticlassF1Score(3), {{4, 0, 1}, {0, 0, 0}, {2, 0, 3}}, options);
  EXPECT_GT(number(macro.standard_error), 0);
}

TEST(IntervalMetricTest, HasWidthWhereAllIsCorrect) {
  const nlohmann::json correct = {{20, 0}, {0, 5}};
  const Interval beta = interval_of(BinaryFBetaScore(2), correct);
  expect_ends(beta, wilson_interval(5, 5, 0.95).low, 1);
  const Interval mcc = interval_of(BinaryMatthewsCorrCoef(), correct);
  expect_ends(mcc, 2 * wilson_interval(5, 5, 0.95).low - 1, 1);
  // Of both classes' distances to 1, which do not depend on each other.
  const double larger = 1 - 2 * wilson_interval(20, 20, 0.95).low /
                                (1 + wilson_interval(20, 20, 0.95).low);
  const double smaller = 1 - 2 * wilson_interval(5, 5, 0.95).low /
                                 (1 + wilson_interval(5, 5, 0.95).low);
  const Interval macro = interval_of(MulticlassF1Score(2), correct);
  expect_ends(macro, 1 - std::sqrt(larger * larger + smaller * smaller) / 2, 1);
}

TEST(IntervalMetricTest, IsMoversForMeansOfClasses) {
  for (const auto& each : interval_values()["movers"]) {
    SCOPED_TRACE(each.dump());
    const auto classes = static_cast<std::int64_t>(each["matrix"].size());
    const Interval recall =
        interval_of(MulticlassAccuracy(classes), each["matrix"]);
    EXPECT_EQ(recall.method, IntervalMethod::kMover);
    EXPECT_NEAR(number(recall.value), each["recall"]["value"], 1e-12);
    expect_ends(recall, each["recall"]["ends"][0], each["recall"]["ends"][1],
                1e-9);
    const Interval f1 = interval_of(MulticlassF1Score(classes), each["matrix"]);
    EXPECT_NEAR(number(f1.value), each["f1"]["value"], 1e-12);
    EXPECT_NEAR(number(f1.standard_error), each["f1"]["error"], 1e-8);
    expect_ends(f1, each["f1"]["ends"][0], each["f1"]["ends"][1], 1e-7);
    EXPECT_EQ(f1.counted, recall.counted);
    if (classes == 2) {
      const Interval balanced =
          interval_of(BinaryBalancedAccuracy(), each["matrix"]);
      expect_ends(balanced, number(recall.low), number(recall.high));
    }
  }
  // A class without rows: of a metric that counts it as 0 anything may be true.
  const Interval missing =
      interval_of(MulticlassF1Score(3), {{9, 1, 0}, {1, 9, 0}, {0, 0, 0}});
  EXPECT_TRUE(missing.flags.contains(IntervalFlag::kMissingClass));
  const Interval unseen =
      interval_of(MulticlassAccuracy(3), {{8, 1, 1}, {1, 9, 0}, {0, 0, 0}});
  EXPECT_NEAR(number(unseen.value), 1.7 / 3, 1e-12);
  EXPECT_GT(number(unseen.high), number(unseen.value) + 1. / 3);
  EXPECT_TRUE(unseen.flags.contains(IntervalFlag::kMissingClass));
}

TEST(IntervalMetricTest, IsDelongsForAreas) {
  for (const auto& each : interval_values()["areas"]) {
    const at::Tensor scores = tensor_of(each["scores"]);
    const at::Tensor target = tensor_of(each["target"]);
    IntervalMetric area(
        BinaryAUROC(BinaryAUROCOptions().input(ScoreKind::kScores)));
    for (const bool first : {true, false}) {
      const auto half = scores.size(0) / 2;
      const auto part = [&](const at::Tensor& all) {
        return first ? all.narrow(0, 0, half)
                     : all.narrow(0, half, all.size(0) - half);
      };
      area.update(part(scores), part(target));
    }
    const Interval interval = area.compute().value();
    EXPECT_EQ(interval.method, IntervalMethod::kDelongNewcombe);
    EXPECT_NEAR(number(interval.standard_error), each["error"], 1e-12);
    expect_ends(interval,
                std::min(each["ends"][0].get<double>(),
                         each["newcombe"][0].get<double>()),
                std::max(each["ends"][1].get<double>(),
                         each["newcombe"][1].get<double>()),
                1e-9);
    EXPECT_EQ(interval.counted, static_cast<double>(scores.numel()));
    IntervalMetric delong(
        BinaryAUROC(BinaryAUROCOptions().input(ScoreKind::kScores)),
        IntervalOptions().method(IntervalMethod::kDelong));
    delong.update(scores, target);
    expect_ends(delong.compute().value(), each["ends"][0], each["ends"][1],
                1e-9);
  }
}

TEST(IntervalMetricTest, IsDelongsForWeightsAndForBins) {
  const auto& each = interval_values()["weighted_area"];
  const at::Tensor scores = tensor_of(each["scores"]);
  const at::Tensor target = tensor_of(each["target"]);
  const auto options = BinaryAUROCOptions().input(ScoreKind::kScores);
  IntervalMetric weighted{BinaryAUROC(options)};
  weighted.update(scores, target, tensor_of(each["weight"]));
  EXPECT_NEAR(number(weighted.compute().value().standard_error), each["error"],
              1e-12);
  // Scores are in as many bins as there are of them.
  const at::Tensor bounded = scores.clamp(0, 1);
  IntervalMetric binned{BinaryAUROC(BinaryAUROCOptions().thresholds(11))};
  binned.update(bounded, target);
  const AreaEstimate exact = delong(bounded, target);
  EXPECT_NEAR(number(binned.compute().value().standard_error),
              exact.standard_error, 1e-12);
  IntervalMetric curves(
      MulticlassAUROC(MulticlassAUROCOptions(2).average(Average::kNone)));
  curves.update(at::stack({bounded.neg().add(1), bounded}, 1), target);
  EXPECT_NEAR(number(curves.compute().value().high[1]),
              delong_newcombe_interval(exact, 0.95).high, 1e-12);
}

TEST(IntervalMetricTest, LeavesOutEachRowOfAnAveragePrecision) {
  for (const auto& each : interval_values()["precisions"]) {
    const at::Tensor scores = tensor_of(each["scores"]);
    const at::Tensor target = tensor_of(each["target"]).to(at::kLong);
    const auto check = [&](IntervalMethod method, IntervalMethod used) {
      IntervalMetric precision(BinaryAveragePrecision(),
                               IntervalOptions().method(method).blocks(300));
      precision.update(scores, target);
      const Interval interval = precision.compute().value();
      EXPECT_EQ(interval.method, used);
      EXPECT_NEAR(number(interval.value), each["value"], 1e-12);
      EXPECT_NEAR(number(interval.standard_error), each["error"], 1e-9);
      expect_ends(interval, each["ends"][0], each["ends"][1], 1e-7);
      EXPECT_EQ(number(interval.degrees_of_freedom),
                target.sum().item<double>() - 1);
    };
    check(IntervalMethod::kAuto, IntervalMethod::kDeleteOne);
    check(IntervalMethod::kJackknife, IntervalMethod::kJackknife);
  }
}

TEST(IntervalMetricTest, IsObuchowskisForAreasOfGroups) {
  const auto& each = interval_values()["clustered_area"];
  IntervalMetric area(
      BinaryAUROC(BinaryAUROCOptions().input(ScoreKind::kScores)),
      IntervalOptions().grouped(true));
  area.update(SampleIds(tensor_of(each["ids"]).to(at::kLong)),
              tensor_of(each["scores"]), tensor_of(each["target"]));
  const Interval interval = area.compute().value();
  EXPECT_EQ(interval.method, IntervalMethod::kObuchowski);
  EXPECT_EQ(interval.units, 14);
  EXPECT_EQ(interval.unit, "group");
  EXPECT_NEAR(number(interval.value), each["area"], 1e-12);
  EXPECT_NEAR(number(interval.standard_error), each["error"], 1e-12);
  expect_ends(interval, each["ends"][0], each["ends"][1], 1e-9);
}

TEST(IntervalMetricTest, DividesManyUnitsIntoBlocks) {
  const at::Tensor target = at::arange(60).remainder(2);
  const at::Tensor preds =
      (at::arange(60, at::kDouble).mul(7).remainder(31) / 31 + target) / 2;
  IntervalMetric precision(
      BinaryAveragePrecision(),
      IntervalOptions().method(IntervalMethod::kJackknife).blocks(4));
  precision.update(preds, target);
  const Interval interval = precision.compute().value();
  EXPECT_EQ(interval.replicates, 4);
  EXPECT_EQ(interval.units, 60);
  std::vector<double> without;
  for (std::int64_t block = 0; block < 4; ++block) {
    std::vector<std::int64_t> others;
    for (std::int64_t row = 0; row < 60; ++row) {
      if (internal::intervals::block_of(0, row, 4) != block) {
        others.push_back(row);
      }
    }
    const at::Tensor places = at::tensor(others);
    BinaryAveragePrecision rest;
    rest.update(preds.index_select(0, places), target.index_select(0, places));
    without.push_back(number(rest.compute()));
  }
  const double error = std::sqrt(internal::jackknife_variance(without));
  EXPECT_NEAR(number(interval.standard_error), error, 1e-12);
}

TEST(IntervalMetricTest, IsStudentsForMeansOfUnits) {
  for (const auto& each : interval_values()["unit_means"]) {
    const at::Tensor values = tensor_of(each["values"]).sqrt();
    const at::Tensor groups = tensor_of(each["groups"]).to(at::kLong);
    IntervalMetric error(MeanSquaredError(), IntervalOptions().grouped(true));
    const std::int64_t half = values.numel() / 2;
    for (const auto& [begin, count] :
         {std::pair<std::int64_t, std::int64_t>{0, half},
          {half, values.numel() - half}}) {
      const at::Tensor own = values.narrow(0, begin, count);
      error.update(SampleIds(groups.narrow(0, begin, count)), own,
                   at::zeros_like(own));
    }
    const Interval interval = error.compute().value();
    EXPECT_EQ(interval.method, IntervalMethod::kJackknife);
    EXPECT_EQ(interval.counted, static_cast<double>(values.numel()));
    EXPECT_NEAR(number(interval.standard_error), each["error"], 1e-10);
    EXPECT_NEAR(number(interval.degrees_of_freedom), each["degrees"], 1e-9);
    expect_ends(interval, each["ends"][0], each["ends"][1], 1e-8);
  }
}

TEST(IntervalMetricTest, ResamplesSumsOfRows) {
  const at::Tensor target = at::arange(400, at::kDouble).mul(0.37).sin();
  const at::Tensor preds = target + at::arange(400, at::kDouble).mul(1.7).cos();
  const at::Tensor squares = (preds - target).square();
  const double deviation = number(squares.std()) / 20;
  for (const IntervalMethod method :
       {IntervalMethod::kPoisson, IntervalMethod::kDoubleOrNothing}) {
    IntervalMetric error(MeanSquaredError(), IntervalOptions().method(method));
    error.update(preds.narrow(0, 0, 100), target.narrow(0, 0, 100));
    error.update(preds.narrow(0, 100, 300), target.narrow(0, 100, 300));
    const Interval interval = error.compute().value();
    EXPECT_EQ(interval.method, method);
    EXPECT_EQ(interval.replicates, 1000);
    EXPECT_NEAR(number(interval.value), number(squares.mean()), 1e-12);
    EXPECT_NEAR(number(interval.standard_error), deviation, 0.1 * deviation);
    expect_ends(interval, number(squares.mean()) - 1.96 * deviation,
                number(squares.mean()) + 1.96 * deviation, 0.3 * deviation);
  }
}

TEST(IntervalMetricTest, ScalesTotalsToTheNumberOfRows) {
  IntervalMetric sum{SumMetric()};
  sum.update(at::ones({100}));
  const Interval same = sum.compute().value();
  EXPECT_NEAR(number(same.standard_error), 0, 1e-9);
  EXPECT_EQ(number(same.value), 100);
}

TEST(IntervalMetricTest, DrawsGroupsAsAWhole) {
  // 20 groups of 10 equal rows hold no more than 20 rows.
  const at::Tensor values = at::arange(20, at::kDouble).mul(2.1).sin();
  const IntervalOptions options = IntervalOptions().grouped(true);
  IntervalMetric grouped(MeanSquaredError(), options);
  const at::Tensor rows = values.repeat({10});
  const SampleIds groups(at::arange(20).repeat({10}));
  grouped.update(groups, rows, at::zeros_like(rows));
  const double deviation = number(values.square().std()) / std::sqrt(20);
  EXPECT_NEAR(number(grouped.compute().value().standard_error), deviation,
              1e-12);
  IntervalMetric accuracy(BinaryAccuracy(), options);
  EXPECT_EQ(accuracy.method(), IntervalMethod::kJackknife);
  EXPECT_THAT(refusal_of([&] { accuracy.update(rows.gt(0), rows.gt(0)); }),
              HasSubstr("expected ids, those of the groups"));
}

TEST(IntervalMetricTest, IsTheMetricsValueWithoutRows) {
  IntervalMetric accuracy{BinaryAccuracy()};
  EXPECT_TRUE(std::isnan(number(accuracy.compute().value().low)));
  IntervalMetric error{MeanSquaredError()};
  const Interval interval = error.compute().value();
  EXPECT_TRUE(std::isnan(number(interval.value)));
  EXPECT_TRUE(std::isnan(number(interval.high)));
  EXPECT_EQ(interval.n, 0);
}

TEST(IntervalMetricTest, NamesItsResults) {
  IntervalMetric accuracy{BinaryAccuracy()};
  accuracy.update({{"target", at::ones({3})}, {"preds", at::ones({3})}});
  const Results results = accuracy.compute().results();
  EXPECT_EQ(number(results["high"]), 1);
  EXPECT_EQ(accuracy.rows(), 3);
  accuracy.reset();
  EXPECT_EQ(accuracy.rows(), 0);
  EXPECT_THAT(
      refusal_of<c10::IndexError>([&] { accuracy.compute().at("other"); }),
      HasSubstr("no interval 'other', expected one of: ''"));
}

TEST(IntervalMetricTest, GoesOnFromBytes) {
  const at::Tensor preds = at::rand({40}), target = at::arange(40).remainder(2);
  const auto update = [&](IntervalMetric& metric, std::int64_t begin) {
    metric.update(SampleIds(at::arange(begin, begin + 20)),
                  preds.narrow(0, begin, 20), target.narrow(0, begin, 20));
  };
  for (const IntervalMethod method :
       {IntervalMethod::kAuto, IntervalMethod::kPoissonCells,
        IntervalMethod::kPoisson, IntervalMethod::kJackknife}) {
    const auto fresh = [&] {
      return IntervalMetric(
          BinaryAccuracy(),
          IntervalOptions().method(method).replicates(50).blocks(5));
    };
    IntervalMetric whole = fresh(), first = fresh(), second = fresh();
    update(whole, 0);
    update(whole, 20);
    update(first, 0);
    const std::string bytes = first.serialize();
    ASSERT_TRUE(second.deserialize(bytes).ok());
    EXPECT_EQ(second.rows(), 20);
    update(second, 20);
    EXPECT_EQ(second.serialize(), whole.serialize());
    expect_ends(second.compute().value(), number(whole.compute().value().low),
                number(whole.compute().value().high), 0);
    // On any error nothing has changed.
    EXPECT_FALSE(first.deserialize(bytes.substr(1)).ok());
    EXPECT_FALSE(first.deserialize("").ok());
    IntervalMetric other(MeanSquaredError(), IntervalOptions().replicates(9));
    EXPECT_EQ(first.deserialize(other.serialize()).code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(first.serialize(), bytes);
  }
}

}  // namespace
}  // namespace tally
