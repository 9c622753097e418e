#include "tally/metrics/progress.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/aggregation/min_max_metric.h"
#include "tally/metrics/aggregation/sum_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/slices/sliced_metric.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/classification/run_limits_guard.h"

namespace tally {
namespace {

using std::chrono::milliseconds;

struct Stop : std::runtime_error {
  Stop() : std::runtime_error("stop") {}
};

/// "unit done/all" of every call while `work` is done.
template <class Work>
std::vector<std::string> told(const Work& work) {
  std::vector<std::string> list;
  const auto thread = std::this_thread::get_id();
  const ProgressGuard guard(
      [&](const ComputeProgress& progress) {
        EXPECT_EQ(std::this_thread::get_id(), thread);
        list.push_back(progress.unit + " " + std::to_string(progress.done) +
                       "/" + std::to_string(progress.all));
      },
      milliseconds(0));
  work();
  return list;
}

MetricCollection three() {
  MetricCollection metrics;
  metrics.add("mean", MeanMetric());
  metrics.add("sum", SumMetric());
  metrics.add("max", MaxMetric());
  metrics.update(at::arange(5));
  return metrics;
}

TEST(ProgressGuardTest, HearsOfEachMetricOfACollection) {
  MetricCollection metrics = three();
  EXPECT_EQ(
      told([&] { metrics.compute(); }),
      (std::vector<std::string>{"metrics 1/3", "metrics 2/3", "metrics 3/3"}));
}

TEST(ProgressGuardTest, HearsOfEachSlice) {
  SlicedMetric metric{BinaryAccuracy()};
  metric.update(SliceKeys(at::arange(6).remainder(3)), at::rand({6}),
                at::randint(0, 2, {6}, at::kLong));
  const auto list = told([&] { metric.compute(); });
  ASSERT_EQ(list.size(), 3);
  EXPECT_EQ(list.back(), "slices 3/3");
}

TEST(ProgressGuardTest, HearsOfRowsOfAnInterval) {
  const at::Tensor preds = at::rand({300});
  const at::Tensor target = at::randint(0, 2, {300}, at::kLong);
  const auto interval = [&] {
    IntervalMetric metric(
        BinaryAUROC(),
        IntervalOptions().method(IntervalMethod::kPoisson).replicates(50));
    metric.update(preds, target);
    return metric.compute().value();
  };
  Interval heard;
  const auto list = told([&] { heard = interval(); });
  ASSERT_FALSE(list.empty());
  EXPECT_EQ(list.back(), "rows 300/300");
  // Values are those without it.
  const Interval expected = interval();
  EXPECT_TRUE(heard.low.equal(expected.low));
  EXPECT_TRUE(heard.high.equal(expected.high));
}

TEST(ProgressGuardTest, HearsOfScoresOfALongCurve) {
  const RunLimitsGuard limits;
  BinaryAUROC metric;
  const at::Tensor scores = at::arange(3000, at::kFloat).div(3000);
  metric.update(scores, at::arange(3000).remainder(2));
  BinaryAUROC same;
  same.merge_state(metric);
  const auto list = told([&] { metric.compute(); });
  ASSERT_GT(list.size(), 2);
  EXPECT_EQ(list.back(), "scores 3000/3000");
  EXPECT_TRUE(metric.compute().equal(same.compute()));
}

TEST(ProgressGuardTest, HearsOfEachOfSeveralLongCurves) {
  const at::Tensor scores = at::rand({20, 3});
  const at::Tensor target = at::arange(20).remainder(3);
  const auto told_of = [&](bool keeps_rows) {
    MulticlassAUROC metric(MulticlassAUROCOptions(3).keep_rows(keeps_rows));
    metric.update(scores, target);
    return told([&] { metric.compute(); });
  };
  EXPECT_TRUE(told_of(false).empty());
  EXPECT_TRUE(told_of(true).empty());
  // Threads of no guard read some of the curves.
  const RunLimitsGuard limits;
  for (const bool keeps_rows : {false, true}) {
    const auto list = told_of(keeps_rows);
    ASSERT_FALSE(list.empty());
    for (const std::string& step : list) {
      EXPECT_EQ(step.substr(0, 7), "curves ");
      EXPECT_EQ(step.substr(8), "/3");
    }
  }
}

TEST(ProgressGuardTest, MayEndAMetricOfCurves) {
  const RunLimitsGuard limits;
  MulticlassAUROC metric(3);
  metric.update(at::rand({20, 3}), at::arange(20).remainder(3));
  const std::string before = metric.serialize();
  {
    const ProgressGuard guard([](const ComputeProgress&) { throw Stop(); },
                              milliseconds(0));
    EXPECT_THROW(metric.compute(), Stop);
  }
  EXPECT_EQ(metric.serialize(), before);
  EXPECT_FALSE(metric.compute().isnan().item<bool>());
}

TEST(ProgressGuardTest, IsCalledAfterAPause) {
  MetricCollection metrics = three();
  int calls = 0;
  const auto handler = [&](const ComputeProgress&) { ++calls; };
  {
    const ProgressGuard guard(handler, std::chrono::hours(1));
    metrics.compute();
  }
  EXPECT_EQ(calls, 0);
  metrics.update(at::arange(5));
  {
    const ProgressGuard outer(handler, milliseconds(0));
    const ProgressGuard inner(handler, std::chrono::hours(1));
    metrics.compute();
  }
  EXPECT_EQ(calls, 0);
  // Nobody is told any more.
  metrics.update(at::arange(5));
  metrics.compute();
  EXPECT_EQ(calls, 0);
}

TEST(ProgressGuardTest, WhatItThrowsEndsTheCallAndNothingIsLost) {
  MetricCollection metrics = three();
  const std::string before = metrics.serialize();
  {
    const ProgressGuard guard([](const ComputeProgress&) { throw Stop(); },
                              milliseconds(0));
    EXPECT_THROW(metrics.compute(), Stop);
    EXPECT_THROW(metrics.compute(), Stop);
  }
  EXPECT_EQ(metrics.serialize(), before);
  EXPECT_EQ(metrics.compute()["sum"].item<double>(), 10);
}

TEST(ProgressGuardTest, OneRankMayStopWhileTheOthersGoOn) {
  testkit::run_thread_ranks(3, [](const auto& ranks) {
    MetricCollection metrics = three();
    {
      const bool stops = ranks->rank() == 1;
      const ProgressGuard guard(
          [&](const ComputeProgress&) {
            if (stops) throw Stop();
          },
          milliseconds(0));
      if (stops) {
        EXPECT_THROW(metrics.compute(), Stop);
      } else {
        EXPECT_EQ(metrics.compute()["sum"].template item<double>(), 30);
      }
    }
    EXPECT_EQ(metrics.compute()["sum"].template item<double>(), 30);
  });
}

}  // namespace
}  // namespace tally
