#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "tally/metrics/metric.h"
#include "tally/sync/process_group.h"
#include "tally/testing/faulty_communicator.h"
#include "tally/tests/testing/deadlines.h"
#include "tally/tests/testing/process_ranks.h"
#include "tally/tests/testing/sample_metrics.h"

// What each fault must end as, and the tests that hold it. Here: ranks that die
// or come late, as real processes over Gloo.
//
// a rank is killed      kPeerLost in 1 s, states stay, kGroupBroken after it:
//                       DeathTest, DeathBefore..., DeathInBackward...
// exits early           the same: RankThatExitsCleanlyIsLost
// stops, is too late    kTimeout, an error for itself: StoppedRank...
// is late               waited for: RankThatIsLateWithinTheTimeout...
// is missing, there     text that names rank or variable, in time: InitTest,
//   twice, misconfigured  RendezvousTest, EnvironmentTest
// has other dtypes,     kMismatch on all ranks, the group goes on:
//   sizes, metrics,       RankDifferencesTest, StateSyncTest,
//   options, reductions   MetricCollectionSyncTest
// computes once more    kMismatch, or an error at the end; where all ranks call
//                       the same, one value for all: OneCallTooMany...,
//                       OneCallMore...
// is in another call,   kMismatch that names the calls: CallDifferencesTest,
//   at another metric     MetricLossTest, ExchangeTest
// has another flow, no  kMismatch before any backward pass: the same
//   grad mode
// has no memory         kPeerFailed, or the end of the group, at once:
//                       AllocationFaultsTest, LossAllocationFaultsTest,
//                       MemoryLimitTest
// has no data, resets   counts as empty, gradients too: EdgeCasesTest
// throws in update,     kPeerFailed for the others, or a sync of what it has:
//   fields, compute       MetricRanksTest, CallDifferencesTest; repeatable:
//                         AComputeThatThrows...
// NaN, labels, shapes,  errors before anything changes, or documented values:
//   empty batches         each metric's test, MetricHarnessTest
// damaged checkpoints   a Status, the metric stays: CheckpointTest,
//                       CheckpointFaultsTest
// full disk, no rights, the old file stays: CheckpointFaultsTest
//   death while saving
// two threads           an error for the second: ASecondThreadIsRefused,
//                       TwoMetricsOfOneGroup...; what it drops waits for its
//                       turn: MayBeDroppedByAnotherThread
// random calls          equal to a model: StormTest
// sync in a sync, in a  an error without a collective, a plain sync, an error:
//   hook, after a break   MisuseIsAnError..., HooksOf..., DeathTest
// large counts, halves  exact to the last bit, added up in double precision:
//                       CountersAreExact..., HalfPrecisionIsAddedUp...
// backward on one rank, kMismatch or kTimeout: BackwardOnOneRank...
//   or without a graph    an error on all: ASecondBackwardPass...
// 1, 2, 3, 5 ranks      the value of one process: check_metric(),
//                       FewerSamplesThanRanks
// a group of some ranks an error for the others: SubgroupLeavesOut...
//
// NCCL is held by no test.

namespace tally {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using sync::Communicator;
using sync::GradientFlow;
using sync::SyncError;
using sync::SyncErrorCode;
using tally::testkit::FaultyCommunicator;
using tally::testkit::kAtOnce;
using tally::testkit::kLongTimeout;
using tally::testkit::ProcessRank;
using tally::testkit::ProcessRanks;
using tally::testkit::SampleTensorSum;
using ::testing::AnyOf;

at::Tensor number(double value) { return at::full({2}, value, at::kDouble); }

std::shared_ptr<Communicator> dying_at(std::shared_ptr<Communicator> group,
                                       std::int64_t collective) {
  return std::make_shared<FaultyCommunicator>(std::move(group),
                                              [=](std::int64_t call) {
                                                if (call == collective)
                                                  ::raise(SIGKILL);
                                              });
}

// What `call` throws, which is to be a SyncError.
template <class Call>
SyncError error_of(const Call& call) {
  try {
    call();
  } catch (const SyncError& error) {
    return error;
  }
  throw std::logic_error("expected a SyncError, got none");
}

// That the group is finished and the metric's own data is not.
template <class M>
void expect_own_value(M& metric, const std::string& before, double value) {
  const auto start = steady_clock::now();
  EXPECT_EQ(error_of([&] { metric.compute(); }).code(),
            SyncErrorCode::kGroupBroken);
  EXPECT_LE(steady_clock::now() - start, kAtOnce);
  EXPECT_EQ(metric.serialize(), before);
  EXPECT_FALSE(metric.is_synced());
  metric.set_metric_options(MetricOptions().sync_on_compute(false));
  EXPECT_EQ(metric.compute().flatten()[0].template item<double>(), value);
}

class FaultTableTest : public ::testing::TestWithParam<int> {
 protected:
  void expect_success(ProcessRanks& ranks) {
    for (const auto& result : ranks.join()) {
      EXPECT_EQ(result.exit_code, ProcessRanks::kOk);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Ranks, FaultTableTest, ::testing::Values(2, 3),
                         [](const auto& param) {
                           return "Of" + std::to_string(param.param);
                         });

// On entering that collective of a sync of a large sum.
void expect_loss_in_sum(int count, std::int64_t collective, const char* state,
                        const char* phase) {
  ProcessRanks ranks(count, [&](const ProcessRank& self) {
    auto group = self.connect(kLongTimeout);
    const bool dies = self.rank() == self.size() - 1;
    SampleTensorSum metric(NoOptions(),
                           MetricOptions().communicator(
                               dies ? dying_at(group, collective) : group));
    metric.update(at::full({200'000}, self.rank() + 1.0, at::kDouble));
    const std::string before = metric.serialize();
    const auto start = steady_clock::now();
    const SyncError error = error_of([&] { metric.compute(); });
    EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
    EXPECT_EQ(error.details().metric, "SampleTensorSum");
    EXPECT_EQ(error.details().state, state);
    EXPECT_EQ(error.details().phase, phase);
    EXPECT_EQ(error.details().sequence, 0);
    EXPECT_LE(steady_clock::now() - start, kAtOnce);
    expect_own_value(metric, before, self.rank() + 1.0);
  });
  const auto results = ranks.join();
  for (int r = 0; r + 1 < count; ++r) {
    EXPECT_EQ(results[r].exit_code, ProcessRanks::kOk);
  }
  EXPECT_EQ(results.back().exit_code, 128 + SIGKILL);
}

TEST_P(FaultTableTest, DeathBeforeALargeSumIsAnnounced) {
  expect_loss_in_sum(GetParam(), 1, "", "payload");
}

TEST_P(FaultTableTest, DeathBeforeALargeSumIsReduced) {
  expect_loss_in_sum(GetParam(), 2, "sum", "all_reduce");
}

TEST_P(FaultTableTest, DeathInBackwardFinishesTheGroupAndNotTheMetric) {
  ProcessRanks ranks(GetParam(), [](const ProcessRank& self) {
    auto group = self.connect(kLongTimeout);
    if (self.rank() == self.size() - 1) group = dying_at(group, 1);
    SampleTensorSum metric(NoOptions(),
                           MetricOptions()
                               .communicator(group)
                               .dist_sync_on_step(true)
                               .gradient_flow(GradientFlow::kAllRanks));
    const at::Tensor x = number(self.rank() + 1).requires_grad_();
    const at::Tensor loss = metric.forward(x).sum();
    const std::string before = metric.serialize();
    const auto start = steady_clock::now();
    const SyncError error = error_of([&] { loss.backward(); });
    EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
    EXPECT_LE(steady_clock::now() - start, kAtOnce);
    EXPECT_FALSE(x.grad().defined());
    expect_own_value(metric, before, self.rank() + 1.0);
  });
  const auto results = ranks.join();
  for (int r = 0; r + 1 < GetParam(); ++r) {
    EXPECT_EQ(results[r].exit_code, ProcessRanks::kOk);
  }
  EXPECT_EQ(results.back().exit_code, 128 + SIGKILL);
}

TEST_P(FaultTableTest, RankThatExitsCleanlyIsLost) {
  ProcessRanks ranks(GetParam(), [](const ProcessRank& self) {
    auto group = self.connect(kLongTimeout);
    if (self.rank() == 0) return;
    SampleTensorSum metric(NoOptions(), MetricOptions().communicator(group));
    metric.update(number(self.rank()));
    const std::string before = metric.serialize();
    const auto start = steady_clock::now();
    EXPECT_EQ(error_of([&] { metric.compute(); }).code(),
              SyncErrorCode::kPeerLost);
    EXPECT_LE(steady_clock::now() - start, kAtOnce);
    expect_own_value(metric, before, self.rank());
  });
  expect_success(ranks);
}

TEST_P(FaultTableTest, StoppedRankIsATimeoutAndAnErrorForItself) {
  ProcessRanks ranks(GetParam(), [](const ProcessRank& self) {
    auto group = self.connect(kLongTimeout);
    SampleTensorSum metric(
        NoOptions(),
        MetricOptions().communicator(group).sync_timeout(milliseconds(1500)));
    metric.update(number(self.rank()));
    const std::string before = metric.serialize();
    EXPECT_TRUE(metric.compute().equal(number(self.size() == 2 ? 1 : 3)));
    self.ready();
    self.wait_go();
    const auto start = steady_clock::now();
    const SyncError error = error_of([&] { metric.compute(); });
    if (self.rank() == 0) {
      // The others may hear of the timeout as the loss of rank 0.
      EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
      EXPECT_GE(steady_clock::now() - start, milliseconds(1000));
      EXPECT_LE(steady_clock::now() - start, milliseconds(1500) + kAtOnce);
    }
    EXPECT_THAT(error.code(),
                AnyOf(SyncErrorCode::kTimeout, SyncErrorCode::kPeerLost));
    EXPECT_EQ(error.details().metric, "SampleTensorSum");
    EXPECT_EQ(error.details().phase, "header");
    EXPECT_EQ(error.details().sequence, 1);
    expect_own_value(metric, before, self.rank());
  });
  const int stopped = GetParam() - 1;
  ranks.wait_ready();
  ranks.kill(stopped, SIGSTOP);
  for (int r = 0; r < GetParam(); ++r) ranks.go(r);
  for (int r = 0; r < stopped; ++r) {
    EXPECT_EQ(ranks.join(r).exit_code, ProcessRanks::kOk);
  }
  ranks.kill(stopped, SIGCONT);
  EXPECT_EQ(ranks.join(stopped).exit_code, ProcessRanks::kOk);
}

TEST_P(FaultTableTest, RankThatIsLateWithinTheTimeoutIsWaitedFor) {
  ProcessRanks ranks(GetParam(), [](const ProcessRank& self) {
    auto group = self.connect(kLongTimeout);
    SampleTensorSum metric(NoOptions(), MetricOptions().communicator(group));
    metric.update(number(self.rank()));
    self.ready();
    self.wait_go();
    EXPECT_TRUE(metric.compute().equal(number(self.size() == 2 ? 1 : 3)));
  });
  ranks.wait_ready();
  ranks.kill(0, SIGSTOP);
  for (int r = 0; r < GetParam(); ++r) ranks.go(r);
  ranks.kill(0, SIGCONT);
  expect_success(ranks);
}

TEST(FaultTableGroupsTest, SubgroupLeavesOutItsNonMembers) {
  ProcessRanks ranks(3, [](const ProcessRank& self) {
    auto all = self.connect(seconds(10));
    auto store = c10::make_intrusive<c10d::PrefixStore>(
        "subgroup", c10::make_intrusive<c10d::FileStore>(
                        self.store_path() + ".subgroup", 3));
    const bool member = self.rank() != 1;
    auto group = c10::make_intrusive<c10d::ProcessGroup>(
        store, member ? self.rank() / 2 : -1, 2);
    if (!member) {
      EXPECT_EQ(error_of([&] { sync::make_communicator(group); }).code(),
                SyncErrorCode::kInvalidUse);
    } else {
      auto gloo = c10d::ProcessGroupGloo::Options::create();
      gloo->devices.push_back(
          c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
      group->setBackend(at::kCPU, c10d::ProcessGroup::BackendType::GLOO,
                        c10::make_intrusive<c10d::ProcessGroupGloo>(
                            store, self.rank() / 2, 2, gloo));
      SampleTensorSum pair(NoOptions(), MetricOptions().communicator(
                                            sync::make_communicator(group)));
      pair.update(number(self.rank()));
      EXPECT_TRUE(pair.compute().equal(number(2)));
    }
    SampleTensorSum metric(NoOptions(), MetricOptions().communicator(all));
    metric.update(number(self.rank()));
    EXPECT_TRUE(metric.compute().equal(number(3)));
  });
  for (const auto& result : ranks.join()) {
    EXPECT_EQ(result.exit_code, ProcessRanks::kOk);
  }
}

}  // namespace
}  // namespace tally
