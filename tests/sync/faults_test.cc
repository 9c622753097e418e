#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "tally/tests/testing/process_ranks.h"

// What happens to a Gloo group when processes die, stop or come late.

namespace tally::sync {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::tally::testing::ProcessRank;
using ::tally::testing::ProcessRanks;
using ::testing::HasSubstr;

void gather(Communicator& group) {
  at::Tensor output = at::empty({group.size() * 4});
  group.all_gather(at::ones({4}), output);
}

void gather_until_broken(Communicator& group) {
  try {
    for (;;) gather(group);
  } catch (const SyncError& error) {
    EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
  }
}

TEST(FaultsTest, KilledPeerIsLostAtOnceAndTheGroupStaysBroken) {
  ProcessRanks ranks(3, [](const ProcessRank& self) {
    auto group = self.connect(seconds(15));
    gather(*group);
    self.ready();
    gather_until_broken(*group);
    const auto start = steady_clock::now();
    try {
      gather(*group);
      ADD_FAILURE() << "gathered over a broken group";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kGroupBroken);
      EXPECT_THAT(error.message(), HasSubstr(group->broken_reason()));
    }
    group.reset();
    EXPECT_LE(steady_clock::now() - start, milliseconds(500));
  });
  ranks.wait_ready();
  const auto killed = steady_clock::now();
  ranks.kill(1, SIGKILL);
  const auto results = ranks.join();
  EXPECT_EQ(results[1].exit_code, 128 + SIGKILL);
  for (int survivor : {0, 2}) {
    EXPECT_EQ(results[survivor].exit_code, ProcessRanks::kOk);
    EXPECT_LE(results[survivor].ended - killed, milliseconds(1000));
  }
}

TEST(FaultsTest, PeerThatIsKilledInTheMiddleOfAGatherIsLost) {
  ProcessRanks ranks(3, [](const ProcessRank& self) {
    auto group = self.connect(seconds(60));
    const at::Tensor own = at::ones({16'000'000});
    at::Tensor all = at::empty({48'000'000});
    Transfer transfer = group->start_all_gather(own, all);
    self.ready();
    try {
      transfer.wait();
      gather_until_broken(*group);
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
    }
  });
  ranks.wait_ready();
  const auto killed = steady_clock::now();
  ranks.kill(1, SIGKILL);
  const auto results = ranks.join();
  for (int survivor : {0, 2}) {
    EXPECT_EQ(results[survivor].exit_code, ProcessRanks::kOk);
    EXPECT_LE(results[survivor].ended - killed, seconds(10));
  }
}

TEST(FaultsTest, PeerThatExitsCleanlyIsLost) {
  ProcessRanks ranks(2, [](const ProcessRank& self) {
    auto group = self.connect(seconds(15));
    if (self.rank() == 1) return;
    gather(*group);
  });
  const auto results = ranks.join();
  EXPECT_EQ(results[0].exit_code, ProcessRanks::kSyncError);
  EXPECT_THAT(results[0].output, HasSubstr("kPeerLost"));
  EXPECT_EQ(results[1].exit_code, ProcessRanks::kOk);
}

TEST(FaultsTest, StoppedPeerIsATimeoutAtTheTimeout) {
  ProcessRanks ranks(2, [](const ProcessRank& self) {
    auto group = self.connect(seconds(2));
    self.ready();
    self.wait_go();
    const auto start = steady_clock::now();
    try {
      gather(*group);
      ADD_FAILURE() << "gathered without the other rank";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kTimeout) << error.what();
      EXPECT_EQ(error.details().phase, "all_gather");
    }
    const auto took = steady_clock::now() - start;
    EXPECT_GE(took, milliseconds(1500));
    EXPECT_LE(took, milliseconds(2500));
    EXPECT_THROW(gather(*group), SyncError);
    group.reset();
    EXPECT_LE(steady_clock::now() - start - took, milliseconds(500));
  });
  ranks.wait_ready();
  ranks.kill(1, SIGSTOP);
  ranks.go(0);
  EXPECT_EQ(ranks.join(0).exit_code, ProcessRanks::kOk);
}

TEST(FaultsTest, StoppedPeerThatGoesOnInTimeIsFine) {
  ProcessRanks ranks(2, [](const ProcessRank& self) {
    auto group = self.connect(seconds(10));
    self.ready();
    self.wait_go();
    gather(*group);
  });
  ranks.wait_ready();
  ranks.kill(1, SIGSTOP);
  ranks.go(0);
  ranks.go(1);
  ranks.kill(1, SIGCONT);
  for (const auto& result : ranks.join()) {
    EXPECT_EQ(result.exit_code, ProcessRanks::kOk);
  }
}

TEST(FaultsTest, RankThatIsLateForTheTimeoutFailsToo) {
  ProcessRanks ranks(2, [](const ProcessRank& self) {
    auto group = self.connect(seconds(1));
    if (self.rank() == 1) self.wait_go();
    gather(*group);
  });
  EXPECT_EQ(ranks.join(0).exit_code, ProcessRanks::kSyncError);
  ranks.go(1);
  const auto late = ranks.join(1);
  EXPECT_EQ(late.exit_code, ProcessRanks::kSyncError);
  EXPECT_THAT(late.output, HasSubstr("kPeerLost"));
}

}  // namespace
}  // namespace tally::sync
