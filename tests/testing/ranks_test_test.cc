#include "tally/testing/ranks_test.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "tally/sync/communicator.h"

namespace tally::testkit {
namespace {

using sync::ReduceOp;
using sync::SyncErrorCode;
using ::testing::HasSubstr;

double sum_over(sync::Communicator& group, double value) {
  at::Tensor sum = at::full({}, value, at::kDouble);
  group.all_reduce(sum, ReduceOp::kSum);
  return sum.item<double>();
}

// A thread that runs before main() must do no harm.
[[maybe_unused]] const bool kThreadBeforeMain = [] {
  static std::thread thread([] { at::arange(100).sum(); });
  std::atexit([] { thread.join(); });
  return true;
}();

// What every rank can do, on processes and on threads.
void use_the_group(const Rank& self) {
  const int size = self.size();
  EXPECT_EQ(self.group()->rank(), self.rank());
  EXPECT_EQ(self.group()->size(), size);
  EXPECT_EQ(sync::default_communicator(), self.group());
  EXPECT_EQ(sum_over(*self.group(), self.rank() + 1), size * (size + 1) / 2);
}
RANKS_TEST(RanksTest, HasAGroup, 1, 2, 3, 5) { use_the_group(self); }
THREAD_RANKS_TEST(RanksTest, HasAGroupOfThreads, 1, 2, 3, 5) {
  use_the_group(self);
}

void use_the_process_group(const Rank& self) {
  std::vector<at::Tensor> ones = {at::full({2}, 1.0)};
  for (int i = 0; i < 2; ++i) self.process_group()->allreduce(ones)->wait();
  EXPECT_EQ(ones[0][1].item<double>(), self.size() * self.size());
  EXPECT_EQ(self.process_group()->getRank(), self.rank());
}
RANKS_TEST(RanksTest, HasAProcessGroup, 1, 2) { use_the_process_group(self); }
THREAD_RANKS_TEST(RanksTest, HasAProcessGroupOfThreads, 1, 3) {
  use_the_process_group(self);
}

void use_the_store(const Rank& self) {
  EXPECT_EQ(self.store()->add("count", 0), 0);
  self.barrier();
  self.store()->add("count", 1);
  self.barrier();
  EXPECT_EQ(self.store()->add("count", 0), self.size());
}
RANKS_TEST(RanksTest, HasAStoreOfItsOwnAndABarrier, 3) { use_the_store(self); }
THREAD_RANKS_TEST(RanksTest, HasAStoreOfThreads, 3) { use_the_store(self); }

void use_the_folder(const Rank& self) {
  EXPECT_TRUE(std::filesystem::is_empty(self.folder()));
  self.barrier();
  std::ofstream(self.folder() + "/of" + std::to_string(self.rank())) << "here";
  self.barrier();
  using Entries = std::filesystem::directory_iterator;
  EXPECT_EQ(std::distance(Entries(self.folder()), Entries()), self.size());
}
RANKS_TEST(RanksTest, HasAFolderOfItsOwn, 2) { use_the_folder(self); }
THREAD_RANKS_TEST(RanksTest, HasAFolderOfThreads, 3) { use_the_folder(self); }

RANKS_TEST(RanksTest, HasTheUsualEnvironmentAndNothingOfTheKit, 2) {
  EXPECT_EQ(std::getenv("RANK"), std::to_string(self.rank()));
  EXPECT_EQ(std::getenv("WORLD_SIZE"), std::string("2"));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    EXPECT_THAT(*entry, ::testing::Not(HasSubstr("TALLY_TESTKIT")));
    EXPECT_THAT(*entry, ::testing::Not(HasSubstr("XML_OUTPUT_FILE")));
  }
}

// Fixtures.

class FixtureTest : public ::testing::Test {
 protected:
  static RanksOptions ranks_options() {
    RanksOptions options;
    options.timeout = std::chrono::seconds(7);
    options.environment = [](int rank) {
      return std::vector<std::string>{"OF_RANK=" + std::to_string(rank)};
    };
    return options;
  }
  static void SetUpTestSuite() { suite_is_set_up = true; }
  void SetUp() override { total_ = sum_over(*sync::default_communicator(), 1); }
  void TearDown() override { sum_over(*sync::default_communicator(), 1); }

  static bool suite_is_set_up;
  double total_ = 0;
};
bool FixtureTest::suite_is_set_up = false;

RANKS_TEST_F(FixtureTest, IsSetUpOnEachRank, 1, 2) {
  EXPECT_EQ(total_, self.size());
  EXPECT_TRUE(suite_is_set_up);
  EXPECT_EQ(self.group()->timeout(), std::chrono::seconds(7));
  EXPECT_EQ(std::getenv("OF_RANK"), std::to_string(self.rank()));
}
THREAD_RANKS_TEST_F(FixtureTest, IsSetUpOnEachThread, 1, 3) {
  EXPECT_EQ(total_, self.size());
  total_ = -1;  // each rank has a fixture of its own
  EXPECT_EQ(self.group()->timeout(), std::chrono::seconds(7));
}
TEST_F(FixtureTest, CanBeThatOfOrdinaryTestsToo) { EXPECT_EQ(total_, 1); }

class ValuesTest : public ::testing::TestWithParam<int> {};
RANKS_TEST_P(ValuesTest, AreKnownOnEachRank, 1, 2) {
  EXPECT_EQ(sum_over(*self.group(), GetParam()), self.size() * GetParam());
}
THREAD_RANKS_TEST_P(ValuesTest, AreKnownOnEachThread, 2) {
  EXPECT_EQ(sum_over(*self.group(), GetParam()), 2 * GetParam());
}
INSTANTIATE_TEST_SUITE_P(Of, ValuesTest, ::testing::Values(3, 5));

template <class T>
class TypesTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TypesTest, Types);
TYPED_RANKS_TEST(TypesTest, AreKnownOnEachRank, 2) {
  EXPECT_EQ(sum_over(*self.group(), sizeof(TypeParam)), 2 * sizeof(TypeParam));
}
TYPED_THREAD_RANKS_TEST(TypesTest, AreKnownOnEachThread, 3) {
  EXPECT_EQ(sum_over(*self.group(), sizeof(TypeParam)), 3 * sizeof(TypeParam));
}

// Faults.

void kill_one(const Rank& self) {
  self.inject(Fault::kill(), 1, 1);
  EXPECT_EQ(sum_over(*self.group(), 1), self.size());
  EXPECT_SYNC_ERROR(sum_over(*self.group(), 1), SyncErrorCode::kPeerLost);
  EXPECT_NE(self.rank(), 1);
  self.wait_for_end(1);
  self.barrier();
}
RANKS_TEST(FaultTest, KillLosesAPeer, 2, 3) { kill_one(self); }
THREAD_RANKS_TEST(FaultTest, KillLosesAPeerOnThreads, 2, 3) { kill_one(self); }

void fail_one(const Rank& self) {
  self.inject(Fault::error(std::out_of_range("no such row")), 1, 1);
  EXPECT_EQ(sum_over(*self.group(), 1), 2);
  // Its communicator makes a SyncError of it, and the group is done with.
  const auto error = sync_error_of([&] { sum_over(*self.group(), 1); });
  ASSERT_TRUE(error.has_value());
  if (self.rank() == 1) {
    EXPECT_THAT(error->message(), HasSubstr("no such row"));
  }
}
RANKS_TEST(FaultTest, ErrorIsThrownOnTheRank, 2) { fail_one(self); }
THREAD_RANKS_TEST(FaultTest, ErrorIsThrownOnTheThread, 2) { fail_one(self); }

class LateTest : public ::testing::Test {
 protected:
  static RanksOptions ranks_options() {
    RanksOptions options;
    options.timeout = std::chrono::milliseconds(500);
    return options;
  }
};
void delay_one(const Rank& self) {
  self.inject(Fault::delay(std::chrono::milliseconds(50)), 1, 0);
  self.inject(Fault::delay(std::chrono::seconds(2)), 1, 1);
  EXPECT_EQ(sum_over(*self.group(), 1), 2);
  const auto code =
      self.rank() == 0 ? SyncErrorCode::kTimeout : SyncErrorCode::kPeerLost;
  EXPECT_SYNC_ERROR(sum_over(*self.group(), 1), code);
}
RANKS_TEST_F(LateTest, DelayIsATimeoutIfItIsLong, 2) { delay_one(self); }
THREAD_RANKS_TEST_F(LateTest, DelayIsATimeoutOnThreads, 2) { delay_one(self); }

void stop_one(const Rank& self) {
  self.inject(Fault::stop(), 1, 1);
  EXPECT_EQ(sum_over(*self.group(), 1), 3);
  if (self.rank() == 0) {
    self.wait_for_stop(1);
    self.resume(1);
  }
  EXPECT_EQ(sum_over(*self.group(), 1), 3);
  // Now for good.
  if (self.rank() == 1) self.stop();
  self.wait_for_stop(1);
  self.barrier();
}
RANKS_TEST(FaultTest, StopLastsUntilResumed, 3) { stop_one(self); }
THREAD_RANKS_TEST(FaultTest, StopLastsUntilResumedOnThreads, 3) {
  stop_one(self);
}

RANKS_TEST(FaultTest, ARankCanEndByAnySignal, 2) {
  if (self.rank() == 1) self.die(SIGTERM);
  EXPECT_SYNC_ERROR(sum_over(*self.group(), 1), SyncErrorCode::kPeerLost);
}

void exit_one(const Rank& self) {
  self.inject(Fault::exit(3), 1, 1);
  EXPECT_EQ(sum_over(*self.group(), 1), 2);
  EXPECT_SYNC_ERROR(sum_over(*self.group(), 1), SyncErrorCode::kPeerLost);
  self.wait_for_end(1);
  self.barrier();
}
RANKS_TEST(FaultTest, ExitLosesAPeer, 2) { exit_one(self); }
THREAD_RANKS_TEST(FaultTest, ExitLosesAPeerOnThreads, 2) { exit_one(self); }

RANKS_TEST(FaultTest, AnyThreadCanEndTheRank, 2) {
  if (self.rank() == 1) std::thread([&] { self.exit(); }).join();
  EXPECT_SYNC_ERROR(sum_over(*self.group(), 1), SyncErrorCode::kPeerLost);
}

RANKS_TEST(FaultTest, BackgroundCollectivesCountToo, 2) {
  self.inject(Fault::error(SyncErrorCode::kTransport), 0, 0);
  if (self.rank() == 1) return;
  at::Tensor all = at::full({4}, 0.0);
  EXPECT_SYNC_ERROR(self.group()->start_all_gather(at::full({2}, 1.0), all),
                    SyncErrorCode::kTransport);
}

}  // namespace
}  // namespace tally::testkit
