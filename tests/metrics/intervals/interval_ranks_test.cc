#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/calibration_error.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/spearman_corr_coef.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::refusal_of;

constexpr std::int64_t kRows = 60;

at::Tensor scores() {
  return at::arange(kRows, at::kDouble).mul(0.7).sin().mul(0.45).add(0.5);
}
at::Tensor target() { return at::arange(kRows).mul(7).remainder(5).gt(2); }

/// Updates with rows [begin, end) in batches, ids being hashes of row numbers.
void update(IntervalMetric& metric, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kBatch = 7;
  for (; begin < end; begin += kBatch) {
    const std::int64_t count = std::min(kBatch, end - begin);
    metric.update(SampleIds(at::arange(begin, begin + count).mul(12345)),
                  scores().narrow(0, begin, count),
                  target().narrow(0, begin, count));
  }
}

/// The rows of this rank; the last of several has none.
std::pair<std::int64_t, std::int64_t> rows_of(const testkit::Rank& self) {
  const std::int64_t sharing = std::max(self.size() - 1, 1);
  const std::int64_t rank = self.rank();
  if (rank >= sharing) return {kRows, kRows};
  return {rank * kRows / sharing, (rank + 1) * kRows / sharing};
}

void expect_equal(const at::Tensor& a, const at::Tensor& b, bool exactly) {
  EXPECT_TRUE(exactly ? a.equal(b) : a.allclose(b, 1e-12, 1e-12))
      << a << " and " << b;
}

template <class Make>
void check(const testkit::Rank& self, const IntervalOptions& options,
           const Make& make, bool exactly) {
  MetricOptions alone;
  alone.sync_on_compute(false);
  IntervalMetric whole(make(alone), options);
  update(whole, 0, kRows);
  IntervalMetric split(make(MetricOptions()), options);
  const auto [begin, end] = rows_of(self);
  update(split, begin, end);
  const Interval a = whole.compute().value();
  const Interval b = split.compute().value();
  expect_equal(a.value, b.value, exactly);
  expect_equal(a.low, b.low, exactly);
  expect_equal(a.high, b.high, exactly);
  expect_equal(a.standard_error, b.standard_error, exactly);
  EXPECT_EQ(a.n, b.n);
}

template <class M>
auto maker(typename M::Options options) {
  return [options](const MetricOptions& metric_options) {
    return M(options, metric_options);
  };
}

RANKS_TEST(IntervalRanksTest, EqualOneProcess, 1, 2, 3, 5) {
  using Method = IntervalMethod;
  IntervalOptions options;
  options.replicates(50).blocks(6);
  check(self, options, maker<BinaryF1Score>({}), true);
  check(self, options, maker<BinaryAUROC>({}), true);
  check(self, options, maker<BinaryAveragePrecision>({}), true);
  check(self, options, maker<MeanSquaredError>({}), false);
  check(self, options, maker<SpearmanCorrCoef>({}), false);
  check(self, options,
        maker<BinaryCalibrationError>(
            BinaryCalibrationErrorOptions().norm(CalibrationNorm::kL2)),
        false);
  for (const Method method :
       {Method::kLogitDelta, Method::kPoissonCells, Method::kPoisson,
        Method::kDoubleOrNothing, Method::kJackknife}) {
    options.method(method);
    check(self, options, maker<BinaryF1Score>({}), true);
  }
  for (const Method method : {Method::kPoisson, Method::kDoubleOrNothing}) {
    options.method(method);
    check(self, options, maker<BinaryAUROC>({}), true);
    check(self, options, maker<BinaryAveragePrecision>({}), true);
    check(self, options, maker<MeanSquaredError>({}), false);
  }
}

template <class M>
void check_groups(const testkit::Rank& self) {
  const auto run = [&](bool split) {
    MetricOptions alone;
    alone.sync_on_compute(split);
    IntervalMetric metric(M({}, alone), IntervalOptions().grouped(true));
    const auto [begin, end] =
        split ? rows_of(self) : std::pair<std::int64_t, std::int64_t>(0, kRows);
    const at::Tensor groups = at::arange(kRows).remainder(9);
    metric.update(SampleIds(groups.narrow(0, begin, end - begin)),
                  scores().narrow(0, begin, end - begin),
                  target().narrow(0, begin, end - begin));
    return metric.compute().value();
  };
  const Interval whole = run(false);
  const Interval split = run(true);
  expect_equal(whole.low, split.low, true);
  EXPECT_EQ(split.n, kRows);
}

RANKS_TEST(IntervalRanksTest, DrawsGroupsSpreadOverRanks, 2, 3) {
  check_groups<BinaryAccuracy>(self);
  check_groups<BinaryAUROC>(self);
}

RANKS_TEST(IntervalRanksTest, RefusesRowNumbersAsIds, 2) {
  IntervalMetric error{MeanSquaredError()};
  EXPECT_THAT(
      refusal_of([&] { error.update(scores(), target().to(at::kDouble)); }),
      HasSubstr("expected ids, which a row's number cannot replace on 2 "
                "ranks"));
  EXPECT_EQ(error.rows(), 0);
}

RANKS_TEST(IntervalRanksTest, RefusesIdsThatRepeatOnAnotherRank, 3) {
  IntervalMetric error{MeanSquaredError()};
  if (self.rank() < 2) update(error, 0, 5);
  EXPECT_THAT(refusal_of([&] { error.compute(); }),
              HasSubstr("expected each id once, got 0 again"));
}

}  // namespace
}  // namespace tally
