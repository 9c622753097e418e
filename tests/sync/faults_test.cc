#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "tally/sync/communicator.h"
#include "tally/sync/gloo.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/deadlines.h"

// What happens to a Gloo group when processes die, stop or come late.

namespace tally::sync {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::tally::testkit::Fault;
using ::tally::testkit::kAtOnce;
using ::tally::testkit::kLongTimeout;
using ::tally::testkit::Rank;
using ::tally::testkit::RanksOptions;
using ::tally::testkit::sync_error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void gather(Communicator& group) {
  at::Tensor output = at::empty({group.size() * 4});
  group.all_gather(at::ones({4}), output);
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
  const SyncError error = sync_error_of([&] {
                            for (;;) call.enter(group);
                          }).value();
  EXPECT_EQ(error.details().phase, call.name) << error.what();
  EXPECT_THAT(error.message(),
              StartsWith(std::string(call.name) + " on gloo rank"));
  EXPECT_FALSE(error.details().peers.empty()) << error.what();
  EXPECT_THAT(error.message(), HasSubstr(" (pid "));
  return error;
}

bool names(const SyncError& error, int rank) {
  const auto& peers = error.details().peers;
  return std::count(peers.begin(), peers.end(), rank) > 0;
}

// One of three ranks fails while they make this call again and again.
class RawFaultsTest : public ::testing::TestWithParam<int> {
 protected:
  static const RawCall& call() { return kRawCalls[GetParam()]; }
};

RANKS_TEST_P(RawFaultsTest, TheLostRankIsNamed, 3) {
  self.inject(Fault::kill(), 1, 2);
  const SyncError error = error_of(call(), *self.group());
  EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
  // The first that sees it leaves the other.
  EXPECT_TRUE(names(error, 1) || names(error, 2 - self.rank())) << error.what();
  self.barrier();
}

RANKS_TEST_P(RawFaultsTest, TheRankThatDoesNotArriveIsNamed, 3) {
  self.group()->set_timeout(seconds(2));
  self.inject(Fault::stop(), 1, 0);
  const SyncError error = error_of(call(), *self.group());
  // The first to give up leaves the others.
  const bool in_message =
      error.message().find("rank 1 (pid ") != std::string::npos;
  const bool in_a_ring = std::string(call().name) == "send_receive";
  EXPECT_TRUE(in_message || in_a_ring) << error.what();
  EXPECT_TRUE(error.code() == SyncErrorCode::kTimeout ||
              error.code() == SyncErrorCode::kPeerLost)
      << error.what();
}

INSTANTIATE_TEST_SUITE_P(Calls, RawFaultsTest, ::testing::Range(0, 6),
                         [](const auto& call) {
                           const std::string name = kRawCalls[call.param].name;
                           return name + std::to_string(call.param);
                         });

// Ranks that connect and leave by themselves.
class GroupFaultsTest : public ::testing::Test {
 protected:
  static RanksOptions ranks_options() {
    RanksOptions options;
    options.connect = false;
    return options;
  }
  static std::shared_ptr<Communicator> connect(const Rank& self,
                                               milliseconds timeout) {
    GlooOptions options;
    options.hostname = "127.0.0.1";
    options.timeout = timeout;
    return make_gloo_communicator(self.store(), self.rank(), self.size(),
                                  options);
  }
};

RANKS_TEST_F(GroupFaultsTest, KilledPeerIsLostAtOnceAndTheGroupStaysBroken, 3) {
  auto group = connect(self, kLongTimeout);
  gather(*group);
  self.barrier();
  const auto start = steady_clock::now();
  if (self.rank() == 1) self.die();
  EXPECT_SYNC_ERROR(gather(*group), SyncErrorCode::kPeerLost);
  const auto error = sync_error_of([&] { gather(*group); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), SyncErrorCode::kGroupBroken);
  EXPECT_THAT(error->message(), HasSubstr(group->broken_reason()));
  group.reset();
  EXPECT_LE(steady_clock::now() - start, kAtOnce);
}

RANKS_TEST_F(GroupFaultsTest, StoppedPeerIsATimeoutAtTheTimeout, 2) {
  auto group = connect(self, seconds(2));
  if (self.rank() == 1) self.stop();
  self.wait_for_stop(1);
  const auto start = steady_clock::now();
  const auto error = sync_error_of([&] { gather(*group); });
  const auto took = steady_clock::now() - start;
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), SyncErrorCode::kTimeout) << error->what();
  EXPECT_EQ(error->details().phase, "all_gather");
  EXPECT_EQ(error->details().peers, std::vector<int>{1});
  EXPECT_THAT(error->message(), HasSubstr("waited for rank 1 (pid "));
  EXPECT_GE(took, milliseconds(1500));
  EXPECT_LE(took, seconds(2) + kAtOnce);
  EXPECT_SYNC_ERROR(gather(*group), SyncErrorCode::kGroupBroken);
  group.reset();
  EXPECT_LE(steady_clock::now() - start - took, kAtOnce);
}

RANKS_TEST(FaultsTest, PeerThatIsKilledInTheMiddleOfAGatherIsLost, 3) {
  self.group()->set_timeout(kLongTimeout);
  const at::Tensor own = at::ones({16'000'000});
  at::Tensor all = at::empty({48'000'000});
  Transfer transfer = self.group()->start_all_gather(own, all);
  self.barrier();
  if (self.rank() == 1) self.die();
  const auto start = steady_clock::now();
  const auto finish = [&] {
    transfer.wait();
    gather(*self.group());
  };
  EXPECT_SYNC_ERROR(finish(), SyncErrorCode::kPeerLost);
  EXPECT_LE(steady_clock::now() - start, kAtOnce);
}

RANKS_TEST(FaultsTest, PeerThatExitsCleanlyIsLost, 2) {
  if (self.rank() == 1) return;
  EXPECT_SYNC_ERROR(gather(*self.group()), SyncErrorCode::kPeerLost);
}

RANKS_TEST(FaultsTest, StoppedPeerThatGoesOnInTimeIsFine, 2) {
  self.inject(Fault::stop(), 1, 0);
  at::Tensor all = at::empty({8});
  Transfer transfer = self.group()->start_all_gather(at::ones({4}), all);
  if (self.rank() == 0) {
    self.wait_for_stop(1);
    self.resume(1);
  }
  transfer.wait();
  EXPECT_TRUE(all.equal(at::ones({8})));
}

RANKS_TEST(FaultsTest, RankThatIsLateForTheTimeoutFailsToo, 2) {
  self.group()->set_timeout(seconds(1));
  if (self.rank() == 1) self.wait_for_end(0);
  EXPECT_SYNC_ERROR(gather(*self.group()), self.rank() == 0
                                               ? SyncErrorCode::kTimeout
                                               : SyncErrorCode::kPeerLost);
}

}  // namespace
}  // namespace tally::sync
