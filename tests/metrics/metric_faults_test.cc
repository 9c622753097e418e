#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tally/metrics/collection.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/deadlines.h"
#include "tally/tests/testing/rank_deaths.h"
#include "tally/tests/testing/sample_metrics.h"

// What metrics do when other ranks die or come late: real processes over Gloo.

namespace tally {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using sync::SyncErrorCode;
using tally::testkit::Fault;
using tally::testkit::kAtOnce;
using tally::testkit::loss_in;
using tally::testkit::RankDeath;
using tally::testkit::SampleMeanSquaredError;
using tally::testkit::sync_error_of;
using ::testing::HasSubstr;

// A sum that needs a second round.
struct LargeSum {
  struct State {
    at::Tensor sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& value) const {
    return {at::full({10'000}, 1.0, at::kDouble).mul(value)};
  }
};
struct LargeMetric final : MetricOf<LargeMetric, LargeSum, at::Tensor> {
  static constexpr const char* kName = "LargeMetric";
  at::Tensor evaluate(const State& s) const { return s.sum; }
};

at::Tensor value_of(int rank) { return at::full({}, rank + 1.0, at::kDouble); }

class DeathTest : public ::testing::TestWithParam<RankDeath> {};

RANKS_TEST_P(DeathTest, LeavesTheOthersWithAnErrorAndTheirState, 2, 3) {
  self.inject(Fault::kill(), self.size() - 1, GetParam().collective);
  LargeMetric metric;
  metric.update(value_of(self.rank()));
  const std::string before = metric.serialize();
  const auto error = loss_in([&] { metric.compute(); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->details().metric, "LargeMetric");
  EXPECT_EQ(error->details().phase, GetParam().phase);
  EXPECT_EQ(error->details().sequence, 0);
  EXPECT_EQ(error->details().rank, self.rank());
  EXPECT_EQ(metric.serialize(), before);
  EXPECT_FALSE(metric.is_synced());

  const auto again = steady_clock::now();
  EXPECT_SYNC_ERROR(metric.compute(), SyncErrorCode::kGroupBroken);
  EXPECT_LE(steady_clock::now() - again, kAtOnce);
  EXPECT_EQ(metric.serialize(), before);

  metric.set_metric_options(MetricOptions().sync_on_compute(false));
  EXPECT_EQ(metric.compute()[0].item<double>(), self.rank() + 1.0);
}

INSTANTIATE_TEST_SUITE_P(Phases, DeathTest,
                         ::testing::Values(RankDeath{"header", 0},
                                           RankDeath{"payload", 1}),
                         [](const auto& death) { return death.param.phase; });

RANKS_TEST(MetricFaultsTest, DeathInBackwardIsAnErrorThere, 3) {
  // The first collective is the sync of forward().
  self.inject(Fault::kill(), 2, 1);
  SampleMeanSquaredError metric;
  metric.set_metric_options(
      MetricOptions().dist_sync_on_step(true).gradient_flow(
          sync::GradientFlow::kAllRanks));
  const at::Tensor preds =
      at::full({3}, self.rank(), at::kDouble).requires_grad_();
  const at::Tensor value =
      metric.forward(preds, at::full({3}, 5.0, at::kDouble));
  const std::string before = metric.serialize();
  EXPECT_SYNC_ERROR(value.backward(), SyncErrorCode::kPeerLost);
  EXPECT_EQ(metric.serialize(), before);
}

RANKS_TEST(MetricFaultsTest, LateRankIsATimeoutThatNamesTheMetric, 2) {
  MetricCollection metrics(MetricOptions().timeout(milliseconds(1500)));
  metrics.add("mse", SampleMeanSquaredError());
  metrics.update(value_of(0), value_of(1));
  const std::string before = metrics.serialize();
  if (self.rank() == 1) self.wait_for_end(0);
  const auto start = steady_clock::now();
  const auto error = sync_error_of([&] { metrics.compute(); });
  const auto waited = steady_clock::now() - start;
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(metrics.serialize(), before);
  if (self.rank() == 1) return;
  EXPECT_EQ(error->code(), SyncErrorCode::kTimeout);
  EXPECT_EQ(error->details().metric, "mse");
  EXPECT_EQ(error->details().phase, "header");
  EXPECT_EQ(error->details().sequence, 0);
  EXPECT_GE(waited, milliseconds(1400));
  EXPECT_LE(waited, milliseconds(2500));
}

RANKS_TEST(MetricFaultsTest, RankWithAnotherSumIsAMismatchAndTheGroupGoesOn,
           3) {
  LargeMetric metric;
  // One rank has rows where the others have a scalar.
  metric.update(self.rank() == 1 ? at::full({3, 1}, 1.0, at::kDouble)
                                 : value_of(0));
  const auto error = sync_error_of([&] { metric.compute(); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), SyncErrorCode::kMismatch);
  EXPECT_EQ(error->details().peers, std::vector<int>{1});
  EXPECT_THAT(error->message(), HasSubstr("'sum'"));
  EXPECT_THAT(error->message(), HasSubstr("[3, 10000]"));
  metric.reset();
  metric.update(value_of(self.rank()));
  EXPECT_EQ(metric.compute()[0].item<double>(), 6.0);
}

}  // namespace
}  // namespace tally
