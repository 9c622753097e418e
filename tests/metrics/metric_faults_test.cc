#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>

#include "tally/metrics/collection.h"
#include "tally/testing/faulty_communicator.h"
#include "tally/tests/testing/deadlines.h"
#include "tally/tests/testing/process_ranks.h"
#include "tally/tests/testing/sample_metrics.h"

// What metrics do when other ranks die or come late: real processes over Gloo.

namespace tally {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using sync::Communicator;
using sync::SyncError;
using sync::SyncErrorCode;
using tally::testkit::FaultyCommunicator;
using tally::testkit::kAtOnce;
using tally::testkit::kLongTimeout;
using tally::testkit::ProcessRank;
using tally::testkit::ProcessRanks;
using tally::testkit::SampleMeanSquaredError;
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

// This process dies on entering its k-th collective from here on.
std::shared_ptr<Communicator> dying_at(std::shared_ptr<Communicator> group,
                                       std::int64_t collective) {
  return std::make_shared<FaultyCommunicator>(std::move(group),
                                              [=](std::int64_t call) {
                                                if (call == collective)
                                                  ::raise(SIGKILL);
                                              });
}

struct Death {
  const char* name;
  int ranks;
  std::int64_t collective;
  const char* phase;
};

class DeathTest : public ::testing::TestWithParam<Death> {};

TEST_P(DeathTest, LeavesTheOthersWithAnErrorAndTheirState) {
  const Death death = GetParam();
  ProcessRanks ranks(death.ranks, [&](const ProcessRank& self) {
    std::shared_ptr<Communicator> group = self.connect(kLongTimeout);
    if (self.rank() == self.size() - 1) {
      group = dying_at(group, death.collective);
    }
    LargeMetric metric;
    metric.set_metric_options(MetricOptions().communicator(group));
    metric.update(value_of(self.rank()));
    const std::string before = metric.serialize();
    const auto start = steady_clock::now();
    try {
      metric.compute();
      ADD_FAILURE() << "computed without a rank";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
      EXPECT_EQ(error.details().metric, "LargeMetric");
      EXPECT_EQ(error.details().phase, death.phase);
      EXPECT_EQ(error.details().sequence, 0);
      EXPECT_EQ(error.details().rank, self.rank());
    }
    EXPECT_LE(steady_clock::now() - start, kAtOnce);
    EXPECT_EQ(metric.serialize(), before);
    EXPECT_FALSE(metric.is_synced());

    const auto again = steady_clock::now();
    try {
      metric.compute();
      ADD_FAILURE() << "computed over a broken group";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kGroupBroken);
    }
    EXPECT_LE(steady_clock::now() - again, kAtOnce);
    EXPECT_EQ(metric.serialize(), before);

    metric.set_metric_options(MetricOptions().sync_on_compute(false));
    EXPECT_EQ(metric.compute()[0].item<double>(), self.rank() + 1.0);
  });
  const auto results = ranks.join();
  for (int r = 0; r + 1 < death.ranks; ++r) {
    EXPECT_EQ(results[r].exit_code, ProcessRanks::kOk);
  }
  EXPECT_EQ(results.back().exit_code, 128 + SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(Phases, DeathTest,
                         ::testing::Values(Death{"HeaderOf2", 2, 0, "header"},
                                           Death{"HeaderOf3", 3, 0, "header"},
                                           Death{"PayloadOf2", 2, 1, "payload"},
                                           Death{"PayloadOf3", 3, 1,
                                                 "payload"}),
                         [](const auto& param) { return param.param.name; });

TEST(MetricFaultsTest, DeathInBackwardIsAnErrorThere) {
  ProcessRanks ranks(3, [](const ProcessRank& self) {
    std::shared_ptr<Communicator> group = self.connect(kLongTimeout);
    // The first collective is the sync of forward().
    if (self.rank() == 2) group = dying_at(group, 1);
    SampleMeanSquaredError metric;
    metric.set_metric_options(
        MetricOptions()
            .communicator(group)
            .dist_sync_on_step(true)
            .gradient_flow(sync::GradientFlow::kAllRanks));
    const at::Tensor preds =
        at::full({3}, self.rank(), at::kDouble).requires_grad_();
    const at::Tensor value =
        metric.forward(preds, at::full({3}, 5.0, at::kDouble));
    const std::string before = metric.serialize();
    try {
      value.backward();
      ADD_FAILURE() << "went back without a rank";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
    }
    EXPECT_EQ(metric.serialize(), before);
  });
  const auto results = ranks.join();
  EXPECT_EQ(results[0].exit_code, ProcessRanks::kOk);
  EXPECT_EQ(results[1].exit_code, ProcessRanks::kOk);
}

TEST(MetricFaultsTest, LateRankIsATimeoutThatNamesTheMetric) {
  ProcessRanks ranks(2, [](const ProcessRank& self) {
    auto group = self.connect(seconds(10));
    MetricCollection metrics(
        MetricOptions().communicator(group).sync_timeout(milliseconds(1500)));
    metrics.add("mse", SampleMeanSquaredError());
    metrics.update(value_of(0), value_of(1));
    self.ready();
    if (self.rank() == 1) self.wait_go();
    const std::string before = metrics.serialize();
    const auto start = steady_clock::now();
    try {
      metrics.compute();
      ADD_FAILURE() << "computed without a rank";
    } catch (const SyncError& error) {
      if (self.rank() == 0) {
        EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
        EXPECT_EQ(error.details().metric, "mse");
        EXPECT_EQ(error.details().phase, "header");
        EXPECT_EQ(error.details().sequence, 0);
        const auto waited = steady_clock::now() - start;
        EXPECT_GE(waited, milliseconds(1400));
        EXPECT_LE(waited, milliseconds(2500));
      }
    }
    EXPECT_EQ(metrics.serialize(), before);
  });
  ranks.wait_ready();
  EXPECT_EQ(ranks.join(0).exit_code, ProcessRanks::kOk);
  ranks.go(1);
  EXPECT_EQ(ranks.join(1).exit_code, ProcessRanks::kOk);
}

TEST(MetricFaultsTest, RankWithAnotherSumIsAMismatchAndTheGroupGoesOn) {
  ProcessRanks ranks(3, [](const ProcessRank& self) {
    auto group = self.connect(seconds(10));
    LargeMetric metric;
    metric.set_metric_options(MetricOptions().communicator(group));
    // One rank has rows where the others have a scalar.
    metric.update(self.rank() == 1 ? at::full({3, 1}, 1.0, at::kDouble)
                                   : value_of(0));
    try {
      metric.compute();
      ADD_FAILURE() << "merged sums of different shapes";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
      EXPECT_EQ(error.details().peers, std::vector<int>{1});
      EXPECT_THAT(error.message(), HasSubstr("'sum'"));
      EXPECT_THAT(error.message(), HasSubstr("[3, 10000]"));
    }
    metric.reset();
    metric.update(value_of(self.rank()));
    EXPECT_EQ(metric.compute()[0].item<double>(), 6.0);
  });
  for (const auto& result : ranks.join()) {
    EXPECT_EQ(result.exit_code, ProcessRanks::kOk);
  }
}

}  // namespace
}  // namespace tally
