#include "tally/sync/init.h"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tally/sync/launch/file_store.h"
#include "tally/tests/sync/init_fixture.h"
#include "tally/tests/testing/deadlines.h"

namespace tally::sync {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::tally::testkit::free_port;
using ::tally::testkit::kAtOnce;
using ::tally::testkit::Rank;
using ::tally::testkit::sync_error_of;
using ::testing::HasSubstr;

InitOptions within(milliseconds timeout) {
  InitOptions options;
  options.timeout = timeout;
  return options;
}

void join_and_sum(const Rank& self) {
  auto group = init_from_env(within(seconds(10)));
  EXPECT_EQ(default_communicator(), group);
  EXPECT_EQ(group->rank(), self.rank());
  EXPECT_EQ(group->timeout(), seconds(10));
  at::Tensor tensor = at::ones({2});
  group->all_reduce(tensor, ReduceOp::kSum);
  EXPECT_EQ(tensor[0].item<int>(), self.size());
}

class InitTest : public testkit::InitFixture {};

RANKS_TEST_F(InitTest, NoLauncherIsASingleProcess, 1) {
  change_environment(
      {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TALLY_STORE"});
  EXPECT_EQ(init_from_env()->describe(), "single process");
  EXPECT_EQ(init_from_env(), default_communicator());
}

RANKS_TEST_F(InitTest, JoinsThroughAFile, 3) { join_and_sum(self); }

RANKS_TEST_F(InitTest, JoinsThroughRankZero, 2) {
  change_environment({"TALLY_STORE", "MASTER_ADDR=localhost",
                      "MASTER_PORT=" + agreed_port(self)});
  join_and_sum(self);
}

RANKS_TEST_F(InitTest, JoinsThroughTheLaunchersStoreAfterARestart, 2) {
  c10::intrusive_ptr<c10d::TCPStore> store;
  const std::string port = host_store(self, store);
  // What the first attempt left.
  if (self.rank() == 0) store->add("tally/job/0/tally/claimed/0", 1);
  self.barrier();
  change_environment(
      {"TALLY_STORE", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port,
       "TORCHELASTIC_USE_AGENT_STORE=True", "TORCHELASTIC_RUN_ID=job",
       "TORCHELASTIC_RESTART_COUNT=1"});
  join_and_sum(self);
  self.barrier();
}

RANKS_TEST_F(InitTest, SecondCallGivesTheSameGroupUnlessTheEnvironmentChanged,
             2) {
  auto group = init_from_env();
  set_default_communicator(nullptr);
  EXPECT_EQ(init_from_env(), group);
  EXPECT_EQ(default_communicator(), group);
  change_environment({"TALLY_STORE=/elsewhere"});
  EXPECT_SYNC_ERROR(init_from_env(), SyncErrorCode::kInvalidUse);
}

RANKS_TEST_F(InitTest, MissingRankIsNamedWithinTheTimeout, 2) {
  change_environment({"WORLD_SIZE=3"});
  self.barrier();
  const auto start = steady_clock::now();
  const auto error =
      sync_error_of([] { init_from_env(within(milliseconds(1000))); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), SyncErrorCode::kTimeout);
  EXPECT_EQ(error->details().peers, std::vector<int>{2});
  EXPECT_LE(steady_clock::now() - start, seconds(1) + kAtOnce);
  EXPECT_EQ(default_communicator()->describe(), "single process");
}

RANKS_TEST_F(InitTest, DuplicateRankIsAMismatch, 2) {
  change_environment({"RANK=0"});
  const auto error = sync_error_of([] { init_from_env(within(seconds(15))); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), SyncErrorCode::kMismatch);
  EXPECT_THAT(error->message(), HasSubstr("two processes have rank 0"));
}

// What two ranks say of a store in which a group left something before it was
// killed.
class StaleStoreTest : public testkit::InitFixture {
 protected:
  template <class Leave>
  static void expect_refusal(const Rank& self, const Leave& leave,
                             const std::string& reason) {
    if (self.rank() == 0) {
      internal::FileStore store(store_path(), seconds(5));
      leave(store);
    }
    self.barrier();
    const auto error =
        sync_error_of([] { init_from_env(within(seconds(15))); });
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), SyncErrorCode::kMismatch);
    EXPECT_THAT(error->message(),
                HasSubstr(reason + ", or an earlier group used the store at " +
                          store_path() + " (TALLY_STORE)"));
  }
};

RANKS_TEST_F(StaleStoreTest, OfTheSameRanksIsAMismatch, 2) {
  expect_refusal(
      self, [](c10d::Store& store) { store.add("tally/claimed/0", 1); },
      "two processes have rank 0");
}

RANKS_TEST_F(StaleStoreTest, OfAnotherNumberOfRanksIsAMismatch, 2) {
  expect_refusal(
      self, [](c10d::Store& store) { store.compareSet("tally/size", "", "3"); },
      "another rank one of 3");
}

RANKS_TEST_F(InitTest, NonsenseIsAValueErrorBeforeTheNetwork, 1) {
  change_environment({"WORLD_SIZE=2", "TALLY_STORE", "MASTER_ADDR=no.such.host",
                      "MASTER_PORT=http"});
  EXPECT_THROW(init_from_env(), c10::ValueError);
  EXPECT_THROW(init_from_env(within(milliseconds(0))), c10::ValueError);
}

RANKS_TEST_F(InitTest, NobodyAtTheMastersPortIsATimeout, 1) {
  change_environment({"RANK=1", "WORLD_SIZE=2", "TALLY_STORE",
                      "MASTER_ADDR=127.0.0.1",
                      "MASTER_PORT=" + agreed_port(self)});
  const auto start = steady_clock::now();
  const auto error =
      sync_error_of([] { init_from_env(within(milliseconds(1000))); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), SyncErrorCode::kTimeout) << error->what();
  EXPECT_THAT(error->message(), HasSubstr("no store at 127.0.0.1:"));
  EXPECT_LE(steady_clock::now() - start, seconds(1) + kAtOnce);
}

}  // namespace
}  // namespace tally::sync
