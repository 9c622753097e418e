#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "tally/sync/communicator.h"
#include "tally/tests/testing/deadlines.h"
#include "tally/tests/testing/process_ranks.h"

// What happens to a Gloo group when processes die, stop or come late.

namespace tally::sync {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::tally::testkit::kAtOnce;
using ::tally::testkit::kLongTimeout;
using ::tally::testkit::ProcessRank;
using ::tally::testkit::ProcessRanks;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

struct RawCall {
  const char* name;
  void (*enter)(Communicator& group);
};

void reduce(Communicator& group) {
  at::Tensor tensor = at::ones({4});
  group.all_reduce(tensor, ReduceOp::kSum);
}
void broadcast(Communicator& group) {
  at::Tensor tensor = at::ones({4});
  group.broadcast(tensor, 1);
}
void all_to_all(Communicator& group) {
  const std::vector<std::int64_t> counts(group.size(), 4);
  at::Tensor output = at::empty({group.size() * 4});
  group.all_to_all(at::ones({group.size() * 4}), counts, output, counts);
}
void gather_behind(Communicator& group) {
  at::Tensor output = at::empty({group.size() * 4});
  group.start_all_gather(at::ones({4}), output).wait();
}
void send_receive(Communicator& group) {
  at::Tensor received = at::empty({4});
  const int next = (group.rank() + 1) % group.size();
  const int previous = (group.rank() + group.size() - 1) % group.size();
  group.start_send_receive(at::ones({4}), next, received, previous).wait();
}

const RawCall kRawCalls[] = {
    {"all_gather", gather},        {"all_reduce", reduce},
    {"broadcast", broadcast},      {"all_to_all", all_to_all},
    {"all_gather", gather_behind}, {"send_receive", send_receive},
};

/// The error with which a call that is made again and again ends.
SyncError error_of(const RawCall& call, Communicator& group) {
  try {
    for (;;) call.enter(group);
  } catch (const SyncError& error) {
    EXPECT_EQ(error.details().phase, call.name) << error.what();
    EXPECT_THAT(error.message(),
                StartsWith(std::string(call.name) + " on gloo rank"));
    EXPECT_FALSE(error.details().peers.empty()) << error.what();
    EXPECT_THAT(error.message(), HasSubstr(" (pid "));
    return error;
  }
}

bool names(const SyncError& error, int rank) {
  const auto& peers = error.details().peers;
  return std::count(peers.begin(), peers.end(), rank) > 0;
}

// Of three ranks, 1 is killed while they make this call again and again.
class RawFaultsTest : public ::testing::TestWithParam<int> {
 protected:
  static const RawCall& call() { return kRawCalls[GetParam()]; }
};

TEST_P(RawFaultsTest, TheLostRankIsNamed) {
  ProcessRanks ranks(3, [](const ProcessRank& self) {
    auto group = self.connect(kLongTimeout);
    self.ready();
    // The ranks that see it leave as well.
    const SyncError error = error_of(call(), *group);
    EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
    self.wait_go();
    EXPECT_TRUE(names(error, 1) || names(error, 2 - self.rank()))
        << error.what();
  });
  ranks.wait_ready();
  ranks.kill(1, SIGKILL);
  ranks.join(1);
  ranks.go(0);
  ranks.go(2);
  for (int survivor : {0, 2}) {
    EXPECT_EQ(ranks.join(survivor).exit_code, ProcessRanks::kOk);
  }
}

TEST_P(RawFaultsTest, TheRankThatDoesNotArriveIsNamed) {
  ProcessRanks ranks(3, [](const ProcessRank& self) {
    auto group = self.connect(seconds(2));
    self.ready();
    self.wait_go();
    const SyncError error = error_of(call(), *group);
    // The first to give up leaves the others.
    const bool in_message =
        error.message().find("rank 1 (pid ") != std::string::npos;
    const bool in_a_ring = std::string(call().name) == "send_receive";
    EXPECT_TRUE(in_message || in_a_ring) << error.what();
    EXPECT_TRUE(error.code() == SyncErrorCode::kTimeout ||
                error.code() == SyncErrorCode::kPeerLost)
        << error.what();
    self.wait_go();
  });
  ranks.wait_ready();
  ranks.kill(1, SIGSTOP);
  for (int i = 0; i < 2; ++i) {
    ranks.go(0);
    ranks.go(2);
  }
  for (int survivor : {0, 2}) {
    EXPECT_EQ(ranks.join(survivor).exit_code, ProcessRanks::kOk);
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, RawFaultsTest, ::testing::Range(0, 6),
                         [](const auto& call) {
                           const std::string name = kRawCalls[call.param].name;
                           return name + std::to_string(call.param);
                         });

TEST(FaultsTest, KilledPeerIsLostAtOnceAndTheGroupStaysBroken) {
  ProcessRanks ranks(3, [](const ProcessRank& self) {
    auto group = self.connect(kLongTimeout);
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
    EXPECT_LE(steady_clock::now() - start, kAtOnce);
  });
  ranks.wait_ready();
  const auto killed = steady_clock::now();
  ranks.kill(1, SIGKILL);
  const auto results = ranks.join();
  EXPECT_EQ(results[1].exit_code, 128 + SIGKILL);
  for (int survivor : {0, 2}) {
    EXPECT_EQ(results[survivor].exit_code, ProcessRanks::kOk);
    EXPECT_LE(results[survivor].ended - killed, kAtOnce);
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
    EXPECT_LE(results[survivor].ended - killed, kAtOnce);
  }
}

TEST(FaultsTest, PeerThatExitsCleanlyIsLost) {
  ProcessRanks ranks(2, [](const ProcessRank& self) {
    auto group = self.connect(kLongTimeout);
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
      EXPECT_EQ(error.details().peers, std::vector<int>{1});
      EXPECT_THAT(error.message(), HasSubstr("waited for rank 1 (pid "));
    }
    const auto took = steady_clock::now() - start;
    EXPECT_GE(took, milliseconds(1500));
    EXPECT_LE(took, seconds(2) + kAtOnce);
    EXPECT_THROW(gather(*group), SyncError);
    group.reset();
    EXPECT_LE(steady_clock::now() - start - took, kAtOnce);
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
