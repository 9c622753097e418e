#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tally/metrics/aggregation/min_max_metric.h"
#include "tally/metrics/aggregation/running_metrics.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/cohen_kappa.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/registry/registry.h"
#include "tally/metrics/regression/max_error.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/quantile_scores.h"
#include "tally/metrics/wrappers/running.h"
#include "tally/tests/metrics/intervals/reference.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::refusal_of;

template <class M>
std::string refused(M metric, const IntervalOptions& options = {}) {
  return refusal_of([&] { IntervalMetric(std::move(metric), options); });
}

TEST(IntervalMethodsTest, AreThoseOfWhatAMetricSays) {
  using Method = IntervalMethod;
  const auto names_of = [](const Metric& metric) {
    std::vector<std::string> names;
    for (const Method method : interval_methods(metric)) {
      names.push_back(internal::intervals::text_of(method));
    }
    return names;
  };
  EXPECT_THAT(names_of(MulticlassF1Score(3)),
              ElementsAre("mover", "logit_delta", "poisson_cells", "jackknife",
                          "poisson", "double_or_nothing"));
  EXPECT_THAT(
      names_of(MulticlassF1Score(
          MulticlassF1ScoreOptions(3).average(Average::kMicro))),
      ElementsAre("wilson", "clopper_pearson", "logit_delta", "poisson_cells",
                  "jackknife", "poisson", "double_or_nothing"));
  EXPECT_THAT(names_of(MeanSquaredError()),
              ElementsAre("jackknife", "poisson", "double_or_nothing"));
  EXPECT_THAT(
      names_of(BinaryAveragePrecision()),
      ElementsAre("delete_one", "jackknife", "poisson", "double_or_nothing"));
  EXPECT_THAT(names_of(MaxMetric()), ElementsAre());
  EXPECT_THAT(names_of(RunningMean()), ElementsAre());
}

TEST(IntervalMethodsTest, AreTakenByEveryMetricThatHasThem) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    if (entry.is_wrapper) continue;
    const auto metric = make_metric(entry.example());
    const std::vector<IntervalMethod> methods = interval_methods(*metric);
    for (const IntervalMethod method : methods) {
      SCOPED_TRACE(name);
      const IntervalMetric one(metric->clone(),
                               IntervalOptions().method(method));
      EXPECT_EQ(one.method(), method);
    }
    if (methods.empty()) continue;
    EXPECT_EQ(IntervalMetric(metric->clone()).method(), methods.front())
        << name;
  }
}

TEST(IntervalMethodsTest, OrderStatisticsAreScipysForMedians) {
  for (const auto& each : testkit::interval_values()["medians"]) {
    const at::Tensor errors = testkit::tensor_of(each["values"]);
    IntervalMetric median{MedianAbsoluteError()};
    median.update(errors, at::zeros_like(errors));
    const Interval interval = median.compute().value();
    EXPECT_EQ(interval.method, IntervalMethod::kOrderStatistic);
    EXPECT_NEAR(interval.ends().low, each["ends"][0], 1e-9);
    EXPECT_NEAR(interval.ends().high, each["ends"][1], 1e-9);
  }
  IntervalMetric few{MedianAbsoluteError()};
  few.update(at::ones({5}), at::arange(5));
  EXPECT_TRUE(std::isnan(few.compute().value().ends().low));
}

TEST(IntervalRefusalsTest, MetricsWithoutAnInterval) {
  EXPECT_THAT(refused(MaxMetric()), HasSubstr("MaxMetric has no interval"));
  EXPECT_THAT(refused(MinMetric()), HasSubstr("MinMetric has no interval"));
  EXPECT_THAT(refused(MaxError()), HasSubstr("MaxError has no interval"));
  EXPECT_THAT(refused(Running(BinaryAccuracy(), 3)),
              HasSubstr("does not depend on the batches"));
}

TEST(IntervalRefusalsTest, OptionsThatDoNotFit) {
  EXPECT_THAT(
      refused(MedianAbsoluteError(), IntervalOptions().grouped(true)),
      HasSubstr("MedianAbsoluteError has no interval of rows in groups"));
  using Method = IntervalMethod;
  const auto with = [](Method method) {
    return IntervalOptions().method(method);
  };
  EXPECT_THAT(refused(BinaryCohenKappa(), with(Method::kWilson)),
              HasSubstr("expected a metric that method wilson fits, got "
                        "BinaryCohenKappa("));
  EXPECT_THAT(refused(BinaryAccuracy(), with(Method::kDelong)),
              HasSubstr("method delong fits"));
  EXPECT_THAT(refused(BinaryAUROC(), with(Method::kLogitDelta)),
              HasSubstr("method logit_delta fits"));
  EXPECT_THAT(refused(BinaryAccuracy(), with(Method::kWilson).grouped(true)),
              HasSubstr("for grouped rows, got wilson"));
  EXPECT_THAT(refused(MeanSquaredError(),
                      IntervalOptions().ends(ReplicateInterval::kBca)),
              HasSubstr("for ends=bca, got jackknife of MeanSquaredError("));
  EXPECT_THAT(refused(MeanSquaredError(), IntervalOptions().stratified(true)),
              HasSubstr("for stratified, got jackknife of MeanSquaredError("));
  EXPECT_THAT(
      refused(BinaryAccuracy(), IntervalOptions().stratified(true).method(
                                    IntervalMethod::kWilson)),
      HasSubstr("for stratified, got wilson of BinaryAccuracy("));
  EXPECT_THAT(refused(BinaryAccuracy(), IntervalOptions().level(1)),
              HasSubstr("expected a level in (0, 1), got 1"));
  EXPECT_THAT(refused(BinaryAccuracy(), IntervalOptions().replicates(1)),
              HasSubstr("expected at least 2 replicates, got 1"));
  EXPECT_THAT(refused(BinaryAccuracy(), IntervalOptions().blocks(1)),
              HasSubstr("expected at least 2 blocks, got 1"));
}

TEST(IntervalRefusalsTest, InputsThatAreNotOneSamplePerRow) {
  IntervalMetric accuracy{BinaryAccuracy()};
  const at::Tensor ones = at::ones({2, 3});
  EXPECT_THAT(refusal_of([&] { accuracy.update(ones, ones); }),
              HasSubstr("expected one sample per row, got target of sizes "
                        "[2, 3]; use method poisson or jackknife"));
  const at::Tensor row = at::ones({2});
  EXPECT_THAT(refusal_of([&] { accuracy.update(row, row, row * 2); }),
              HasSubstr("expected no weight"));
  EXPECT_THAT(refusal_of([&] { accuracy.update(row, ones); }),
              HasSubstr("BinaryAccuracy"));
  EXPECT_EQ(accuracy.rows(), 0);
}

TEST(IntervalRefusalsTest, IdsThatDoNotFit) {
  IntervalMetric error{MeanSquaredError()};
  const at::Tensor rows = at::rand({3}, at::kDouble);
  EXPECT_THAT(
      refusal_of([&] { error.update(SampleIds(at::arange(2)), rows, rows); }),
      HasSubstr("expected an id for each of 3 rows, got 2"));
  error.update(SampleIds(at::arange(3)), rows, rows);
  EXPECT_THAT(refusal_of([&] { error.update(rows, rows); }),
              HasSubstr("expected ids, as in earlier updates"));
  error.update(SampleIds(at::arange(2, 5)), rows, rows);
  EXPECT_THAT(refusal_of([&] { error.compute(); }),
              HasSubstr("expected each id once, got 2 again"));
  error.reset();
  error.update(rows, rows);
  EXPECT_THAT(
      refusal_of([&] { error.update(SampleIds(at::arange(3)), rows, rows); }),
      HasSubstr("expected no ids, as in earlier updates"));
  EXPECT_EQ(error.rows(), 3);
}

TEST(IntervalRefusalsTest, ResultsWhoseSizeDependsOnTheData) {
  IntervalMetric samples(BinaryAccuracy(
      BinaryAccuracyOptions().multidim_average(MultidimAverage::kSamplewise)));
  samples.update(at::ones({30, 2}), at::ones({30, 2}));
  EXPECT_THAT(refusal_of([&] { samples.compute(); }),
              HasSubstr("expected a result whose size does not depend on the "
                        "data"));
}

}  // namespace
}  // namespace tally
