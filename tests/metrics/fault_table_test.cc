#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "tally/metrics/metric.h"
#include "tally/port/gloo.h"
#include "tally/sync/process_group.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/deadlines.h"
#include "tally/tests/testing/rank_deaths.h"
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
// has exact curves as   one value with ranks that have rows, kMismatch with
//   runs of scores        keep_rows, an error for all where bytes are no run:
//                         ScoreRunFaultsTest, ScoreRunDeathTest
// 1, 2, 3, 5 ranks      the value of one process: check_metric(),
//                       FewerSamplesThanRanks
// a group of some ranks an error for the others: SubgroupLeavesOut...
//
// NCCL is held by no test.

namespace tally {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using sync::GradientFlow;
using sync::SyncError;
using sync::SyncErrorCode;
using tally::testkit::Fault;
using tally::testkit::kAtOnce;
using tally::testkit::loss_in;
using tally::testkit::Rank;
using tally::testkit::SampleTensorSum;
using tally::testkit::sync_error_of;
using ::testing::AnyOf;

at::Tensor number(double value) { return at::full({2}, value, at::kDouble); }

// That the group is finished and the metric's own data is not.
template <class M>
void expect_own_value(M& metric, const std::string& before, double value) {
  const auto start = steady_clock::now();
  EXPECT_SYNC_ERROR(metric.compute(), SyncErrorCode::kGroupBroken);
  EXPECT_LE(steady_clock::now() - start, kAtOnce);
  EXPECT_EQ(metric.serialize(), before);
  EXPECT_FALSE(metric.is_synced());
  metric.set_metric_options(MetricOptions().sync_on_compute(false));
  EXPECT_EQ(metric.compute().flatten()[0].template item<double>(), value);
}

// On entering that collective of a sync of a large sum.
void expect_loss_in_sum(const Rank& self, std::int64_t collective,
                        const char* state, const char* phase) {
  self.inject(Fault::kill(), self.size() - 1, collective);
  SampleTensorSum metric;
  metric.update(at::full({200'000}, self.rank() + 1.0, at::kDouble));
  const std::string before = metric.serialize();
  const auto error = loss_in([&] { metric.compute(); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->details().metric, "SampleTensorSum");
  EXPECT_EQ(error->details().state, state);
  EXPECT_EQ(error->details().phase, phase);
  EXPECT_EQ(error->details().sequence, 0);
  expect_own_value(metric, before, self.rank() + 1.0);
}

RANKS_TEST(FaultTableTest, DeathBeforeALargeSumIsAnnounced, 2, 3) {
  expect_loss_in_sum(self, 1, "", "payload");
}

RANKS_TEST(FaultTableTest, DeathBeforeALargeSumIsReduced, 2, 3) {
  expect_loss_in_sum(self, 2, "sum", "all_reduce");
}

RANKS_TEST(FaultTableTest, DeathInBackwardFinishesTheGroupAndNotTheMetric, 2,
           3) {
  self.inject(Fault::kill(), self.size() - 1, 1);
  SampleTensorSum metric(NoOptions(),
                         MetricOptions().dist_sync_on_step(true).gradient_flow(
                             GradientFlow::kAllRanks));
  const at::Tensor x = number(self.rank() + 1).requires_grad_();
  const at::Tensor loss = metric.forward(x).sum();
  const std::string before = metric.serialize();
  const auto start = steady_clock::now();
  EXPECT_SYNC_ERROR(loss.backward(), SyncErrorCode::kPeerLost);
  EXPECT_LE(steady_clock::now() - start, kAtOnce);
  EXPECT_FALSE(x.grad().defined());
  expect_own_value(metric, before, self.rank() + 1.0);
}

RANKS_TEST(FaultTableTest, RankThatExitsCleanlyIsLost, 2, 3) {
  if (self.rank() == 0) return;
  SampleTensorSum metric;
  metric.update(number(self.rank()));
  const std::string before = metric.serialize();
  const auto start = steady_clock::now();
  EXPECT_SYNC_ERROR(metric.compute(), SyncErrorCode::kPeerLost);
  EXPECT_LE(steady_clock::now() - start, kAtOnce);
  expect_own_value(metric, before, self.rank());
}

RANKS_TEST(FaultTableTest, StoppedRankIsATimeoutAndAnErrorForItself, 2, 3) {
  const int stopped = self.size() - 1;
  SampleTensorSum metric(NoOptions(),
                         MetricOptions().timeout(milliseconds(1500)));
  metric.update(number(self.rank()));
  const std::string before = metric.serialize();
  EXPECT_TRUE(metric.compute().equal(number(self.size() == 2 ? 1 : 3)));
  if (self.rank() == stopped) {
    self.stop();
  } else {
    self.wait_for_stop(stopped);
  }
  const auto start = steady_clock::now();
  const auto error = sync_error_of([&] { metric.compute(); });
  const auto waited = steady_clock::now() - start;
  ASSERT_TRUE(error.has_value());
  if (self.rank() == 0) {
    // The others may hear of the timeout as the loss of rank 0.
    EXPECT_EQ(error->code(), SyncErrorCode::kTimeout);
    EXPECT_GE(waited, milliseconds(1000));
    EXPECT_LE(waited, milliseconds(1500) + kAtOnce);
  }
  EXPECT_THAT(error->code(),
              AnyOf(SyncErrorCode::kTimeout, SyncErrorCode::kPeerLost));
  EXPECT_EQ(error->details().metric, "SampleTensorSum");
  EXPECT_EQ(error->details().phase, "header");
  EXPECT_EQ(error->details().sequence, 1);
  expect_own_value(metric, before, self.rank());
  if (self.rank() > 0) return;
  for (int rank = 1; rank < stopped; ++rank) self.wait_for_end(rank);
  self.resume(stopped);
}

RANKS_TEST(FaultTableTest, RankThatIsLateWithinTheTimeoutIsWaitedFor, 2, 3) {
  self.inject(Fault::delay(milliseconds(300)), 0, 0);
  SampleTensorSum metric;
  metric.update(number(self.rank()));
  EXPECT_TRUE(metric.compute().equal(number(self.size() == 2 ? 1 : 3)));
}

RANKS_TEST(FaultTableTest, SubgroupLeavesOutItsNonMembers, 3) {
  auto store = c10::make_intrusive<c10d::PrefixStore>("subgroup", self.store());
  const bool member = self.rank() != 1;
  auto group = c10::make_intrusive<c10d::ProcessGroup>(
      store, member ? self.rank() / 2 : -1, 2);
  if (!member) {
    EXPECT_SYNC_ERROR(sync::make_communicator(group),
                      SyncErrorCode::kInvalidUse);
  } else {
    group->setBackend(
        at::kCPU, c10d::ProcessGroup::BackendType::GLOO,
        port::make_gloo_backend(store, self.rank() / 2, 2,
                                testkit::kLongTimeout, {"127.0.0.1", ""}));
    SampleTensorSum pair(NoOptions(), MetricOptions().communicator(
                                          sync::make_communicator(group)));
    pair.update(number(self.rank()));
    EXPECT_TRUE(pair.compute().equal(number(2)));
  }
  SampleTensorSum metric;
  metric.update(number(self.rank()));
  EXPECT_TRUE(metric.compute().equal(number(3)));
}

}  // namespace
}  // namespace tally
