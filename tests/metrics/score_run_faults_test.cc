#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tally/metrics/classification/auroc.h"
#include "tally/sync/fingerprint.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/metrics/classification/run_limits_guard.h"
#include "tally/tests/testing/rank_deaths.h"
#include "tally/tests/testing/refusal.h"

// Exact curves whose rows have become runs, where ranks die or differ: real
// processes over Gloo.

namespace tally {
namespace {

using sync::SyncErrorCode;
using tally::testkit::Fault;
using tally::testkit::loss_in;
using tally::testkit::RankDeath;
using tally::testkit::sync_error_of;
using ::testing::HasSubstr;

constexpr RunLimitsGuard::Limits kLimits = {1 << 10, 1 << 9, 1 << 6};
// Their runs do not fit behind the header of a sync.
constexpr std::int64_t kManyRows = 40'000;

struct Samples {
  at::Tensor preds, target;
};
Samples samples_of(int rank, std::int64_t rows) {
  const at::Tensor numbers = at::arange(rows, at::kLong).add(rank * kManyRows);
  return {numbers.mul(40'503).remainder(1 << 16).to(at::kFloat).div(1 << 16),
          numbers.mul(7).remainder(11).lt(3).to(at::kLong)};
}

BinaryAUROC area_of(int rank, std::int64_t rows = kManyRows) {
  BinaryAUROC metric;
  const Samples samples = samples_of(rank, rows);
  for (std::int64_t i = 0; i < rows; i += 5000) {
    const std::int64_t size = std::min<std::int64_t>(5000, rows - i);
    metric.update(samples.preds.narrow(0, i, size),
                  samples.target.narrow(0, i, size));
  }
  return metric;
}

/// Of rows alone, in one process.
double area_of_rows(const std::vector<std::int64_t>& rows_of_rank) {
  BinaryAUROC metric(BinaryAUROCOptions().keep_rows(true),
                     MetricOptions().sync_on_compute(false));
  for (int rank = 0; rank < static_cast<int>(rows_of_rank.size()); ++rank) {
    const Samples samples = samples_of(rank, rows_of_rank[rank]);
    metric.update(samples.preds, samples.target);
  }
  return metric.compute().item<double>();
}

std::int64_t bytes_of_runs(const Metric& metric) {
  const at::Tensor runs = metric.state()["score_runs"];
  return runs.defined() ? runs.numel() : 0;
}

class ScoreRunDeathTest : public ::testing::TestWithParam<RankDeath> {};

RANKS_TEST_P(ScoreRunDeathTest, LeavesTheOthersWithTheirRuns, 3) {
  const RunLimitsGuard limits(kLimits);
  self.inject(Fault::kill(), self.size() - 1, GetParam().collective);
  BinaryAUROC metric = area_of(self.rank());
  ASSERT_GT(bytes_of_runs(metric), 16 * 1024);
  const std::string before = metric.serialize();
  const auto error = loss_in([&] { metric.compute(); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->details().metric, "BinaryAUROC");
  EXPECT_EQ(error->details().phase, GetParam().phase);
  EXPECT_EQ(metric.serialize(), before);
  EXPECT_FALSE(metric.is_synced());
  EXPECT_SYNC_ERROR(metric.compute(), SyncErrorCode::kGroupBroken);
  EXPECT_EQ(metric.serialize(), before);
  metric.set_metric_options(MetricOptions().sync_on_compute(false));
  std::vector<std::int64_t> own(self.rank() + 1);
  own.back() = kManyRows;
  EXPECT_EQ(metric.compute().item<double>(), area_of_rows(own));
}

INSTANTIATE_TEST_SUITE_P(Phases, ScoreRunDeathTest,
                         ::testing::Values(RankDeath{"header", 0},
                                           RankDeath{"payload", 1}),
                         [](const auto& death) { return death.param.phase; });

RANKS_TEST(ScoreRunFaultsTest, ARankThatKeepsRowsIsAMismatch, 3) {
  const RunLimitsGuard limits(kLimits);
  const int odd = self.size() - 1;
  BinaryAUROC metric(BinaryAUROCOptions().keep_rows(self.rank() == odd));
  const Samples samples = samples_of(self.rank(), kManyRows);
  metric.update(samples.preds, samples.target);
  const std::string before = metric.serialize();
  const auto error = sync_error_of([&] { metric.compute(); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), SyncErrorCode::kMismatch);
  EXPECT_EQ(error->details().peers, std::vector<int>{odd});
  EXPECT_EQ(metric.serialize(), before);
  // The group goes on.
  BinaryAUROC next = area_of(self.rank());
  EXPECT_EQ(next.compute().item<double>(),
            area_of_rows(std::vector<std::int64_t>(self.size(), kManyRows)));
}

RANKS_TEST(ScoreRunFaultsTest, RanksWithRowsRunsAndNothingAreOneProcess, 2, 3) {
  const RunLimitsGuard limits(kLimits);
  const std::vector<std::int64_t> rows = {30, kManyRows, 0};
  BinaryAUROC metric = area_of(self.rank(), rows[self.rank()]);
  EXPECT_EQ(bytes_of_runs(metric) > 0, self.rank() == 1);
  const std::string before = metric.serialize();
  const double expected =
      area_of_rows({rows.begin(), rows.begin() + self.size()});
  EXPECT_EQ(metric.compute().item<double>(), expected);
  EXPECT_EQ(metric.serialize(), before);
  metric.sync();
  EXPECT_GT(bytes_of_runs(metric), 0);
  EXPECT_EQ(metric.compute().item<double>(), expected);
  metric.unsync();
  EXPECT_EQ(metric.serialize(), before);
}

/// The checkpoint with another last byte of its state, and the checksum of it.
std::string with_other_run(std::string checkpoint) {
  constexpr std::size_t kChecksumAt = 24, kBodyAt = 32;
  checkpoint.back() = static_cast<char>(~checkpoint.back());
  const std::uint64_t checksum =
      sync::fingerprint(std::string_view(checkpoint).substr(kBodyAt));
  std::memcpy(checkpoint.data() + kChecksumAt, &checksum, sizeof checksum);
  return checkpoint;
}

RANKS_TEST(ScoreRunFaultsTest, ARunThatCannotBeReadIsRefusedByAllRanks, 3) {
  const RunLimitsGuard limits(kLimits);
  BinaryAUROC metric = area_of(self.rank());
  if (self.rank() == 0) {
    const absl::Status loaded =
        metric.deserialize(with_other_run(metric.serialize()));
    ASSERT_TRUE(loaded.ok()) << loaded;
  }
  const std::string before = metric.serialize();
  EXPECT_THAT(testkit::refusal_of<c10::ValueError>([&] { metric.compute(); }),
              HasSubstr("scores"));
  EXPECT_EQ(metric.serialize(), before);
  BinaryAUROC next = area_of(self.rank());
  EXPECT_EQ(next.compute().item<double>(),
            area_of_rows(std::vector<std::int64_t>(self.size(), kManyRows)));
}

}  // namespace
}  // namespace tally
