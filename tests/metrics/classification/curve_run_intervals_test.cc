#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/testing/compare.h"
#include "tally/tests/metrics/classification/run_limits_guard.h"

namespace tally {
namespace {

using testkit::near;

constexpr std::int64_t kRows = 60;

TEST(CurveRunIntervalsTest, IntervalsOfRowsKeepThem) {
  const at::Tensor preds = at::randint(0, 33, {kRows}, at::kFloat).div(32);
  const at::Tensor target = at::randint(0, 2, {kRows}, at::kLong);
  const auto interval_of = [&](const Metric& metric, IntervalMethod method) {
    IntervalMetric interval(metric.clone(),
                            IntervalOptions().method(method).replicates(20));
    for (std::int64_t i = 0; i < kRows; i += 10) {
      interval.update(SampleIds(at::arange(i, i + 10, at::kLong)),
                      preds.narrow(0, i, 10), target.narrow(0, i, 10));
    }
    return interval.compute().value();
  };
  const auto expect_that_of_rows = [&](const Metric& metric,
                                       IntervalMethod method) {
    const Interval expected = interval_of(metric, method);
    const RunLimitsGuard limits;
    const Interval own = interval_of(metric, method);
    EXPECT_TRUE(near(own.value, expected.value, {1e-12, 0}));
    EXPECT_TRUE(near(own.low, expected.low, {1e-12, 0}));
    EXPECT_TRUE(near(own.high, expected.high, {1e-12, 0}));
  };
  for (const IntervalMethod method :
       {IntervalMethod::kPoisson, IntervalMethod::kObuchowski,
        IntervalMethod::kDelong, IntervalMethod::kJackknife}) {
    expect_that_of_rows(BinaryAUROC(), method);
  }
  expect_that_of_rows(BinaryAveragePrecision(), IntervalMethod::kDeleteOne);
}

}  // namespace
}  // namespace tally
