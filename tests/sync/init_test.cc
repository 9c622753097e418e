#include "tally/sync/init.h"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "tally/sync/launch/file_store.h"
#include "tally/tests/testing/deadlines.h"
#include "tally/tests/testing/free_port.h"
#include "tally/tests/testing/process_ranks.h"

namespace tally::sync {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::tally::testkit::free_port;
using ::tally::testkit::kAtOnce;
using ::tally::testkit::ProcessRank;
using ::tally::testkit::ProcessRanks;
using ::tally::testkit::ProcessRanksOptions;
using ::testing::HasSubstr;

InitOptions within(milliseconds timeout) {
  InitOptions options;
  options.timeout = timeout;
  return options;
}

ProcessRanksOptions with_environment(std::vector<std::string> changes) {
  ProcessRanksOptions options;
  options.environment = [=](int) { return changes; };
  return options;
}

void join_and_sum(const ProcessRank& self) {
  auto group = init_from_env(within(seconds(10)));
  EXPECT_EQ(default_communicator(), group);
  EXPECT_EQ(group->rank(), self.rank());
  EXPECT_EQ(group->timeout(), seconds(10));
  at::Tensor tensor = at::ones({2});
  group->all_reduce(tensor, ReduceOp::kSum);
  EXPECT_EQ(tensor[0].item<int>(), self.size());
}

void expect_success(ProcessRanks& ranks) {
  for (const auto& result : ranks.join()) {
    EXPECT_EQ(result.exit_code, ProcessRanks::kOk);
  }
}

TEST(InitTest, NoLauncherIsASingleProcess) {
  ProcessRanks ranks(
      1,
      [](const ProcessRank&) {
        EXPECT_EQ(init_from_env()->describe(), "single process");
        EXPECT_EQ(init_from_env(), default_communicator());
      },
      with_environment({"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                        "TALLY_STORE"}));
  expect_success(ranks);
}

TEST(InitTest, JoinsThroughAFile) {
  ProcessRanks ranks(3, join_and_sum);
  expect_success(ranks);
}

TEST(InitTest, JoinsThroughRankZero) {
  ProcessRanks ranks(2, join_and_sum,
                     with_environment({"TALLY_STORE", "MASTER_ADDR=localhost",
                                       "MASTER_PORT=" + free_port()}));
  expect_success(ranks);
}

TEST(InitTest, JoinsThroughTheLaunchersStoreAfterARestart) {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  // What the first attempt left.
  store->add("tally/job/0/tally/claimed/0", 1);
  ProcessRanks ranks(
      2, join_and_sum,
      with_environment({"TALLY_STORE", "MASTER_ADDR=127.0.0.1",
                        "MASTER_PORT=" + std::to_string(store->getPort()),
                        "TORCHELASTIC_USE_AGENT_STORE=True",
                        "TORCHELASTIC_RUN_ID=job",
                        "TORCHELASTIC_RESTART_COUNT=1"}));
  expect_success(ranks);
}

TEST(InitTest, SecondCallGivesTheSameGroupUnlessTheEnvironmentChanged) {
  ProcessRanks ranks(2, [](const ProcessRank&) {
    auto group = init_from_env();
    set_default_communicator(nullptr);
    EXPECT_EQ(init_from_env(), group);
    EXPECT_EQ(default_communicator(), group);
    setenv("TALLY_STORE", "/elsewhere", 1);
    try {
      init_from_env();
      ADD_FAILURE() << "joined a second group";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kInvalidUse);
    }
  });
  expect_success(ranks);
}

TEST(InitTest, MissingRankIsNamedWithinTheTimeout) {
  ProcessRanks ranks(
      2,
      [](const ProcessRank&) {
        const auto start = steady_clock::now();
        try {
          init_from_env(within(milliseconds(1000)));
          ADD_FAILURE() << "a rank was missing";
        } catch (const SyncError& error) {
          EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
          EXPECT_EQ(error.details().peers, std::vector<int>{2});
        }
        EXPECT_LE(steady_clock::now() - start, seconds(1) + kAtOnce);
        EXPECT_EQ(default_communicator()->describe(), "single process");
      },
      with_environment({"WORLD_SIZE=3"}));
  expect_success(ranks);
}

TEST(InitTest, DuplicateRankIsAMismatch) {
  ProcessRanks ranks(
      2, [](const ProcessRank&) { init_from_env(within(seconds(15))); },
      with_environment({"RANK=0"}));
  for (const auto& result : ranks.join()) {
    EXPECT_EQ(result.exit_code, ProcessRanks::kSyncError);
    EXPECT_THAT(result.output, HasSubstr("two processes have rank 0"));
  }
}

// What two ranks say of a store in which a group left something before it was
// killed.
template <class Leave>
void expect_refused_store(const Leave& leave, const std::string& reason) {
  const std::string path = ::testing::TempDir() + "/tally_stale_store";
  ProcessRanksOptions options;
  options.environment = [&](int rank) -> std::vector<std::string> {
    if (rank == 0) {
      std::remove(path.c_str());
      internal::FileStore store(path, seconds(5));
      leave(store);
    }
    return {"TALLY_STORE=" + path};
  };
  ProcessRanks ranks(
      2, [](const ProcessRank&) { init_from_env(within(seconds(15))); },
      options);
  for (const auto& result : ranks.join()) {
    EXPECT_EQ(result.exit_code, ProcessRanks::kSyncError);
    EXPECT_THAT(result.output, HasSubstr("kMismatch"));
    EXPECT_THAT(result.output,
                HasSubstr(reason + ", or an earlier group used the store at " +
                          path + " (TALLY_STORE)"));
  }
  std::remove(path.c_str());
}

TEST(InitTest, AStoreOfAnEarlierGroupIsAMismatch) {
  expect_refused_store(
      [](c10d::Store& store) { store.add("tally/claimed/0", 1); },
      "two processes have rank 0");
  expect_refused_store(
      [](c10d::Store& store) { store.compareSet("tally/size", "", "3"); },
      "another rank one of 3");
}

TEST(InitTest, NonsenseIsAValueErrorBeforeTheNetwork) {
  ProcessRanks ranks(
      1,
      [](const ProcessRank&) {
        EXPECT_THROW(init_from_env(), c10::ValueError);
        EXPECT_THROW(init_from_env(within(milliseconds(0))), c10::ValueError);
      },
      with_environment({"WORLD_SIZE=2", "TALLY_STORE",
                        "MASTER_ADDR=no.such.host", "MASTER_PORT=http"}));
  expect_success(ranks);
}

TEST(InitTest, NobodyAtTheMastersPortIsATimeout) {
  ProcessRanks ranks(
      1,
      [](const ProcessRank&) {
        const auto start = steady_clock::now();
        try {
          init_from_env(within(milliseconds(1000)));
          ADD_FAILURE() << "there was no store";
        } catch (const SyncError& error) {
          EXPECT_EQ(error.code(), SyncErrorCode::kTimeout) << error.what();
          EXPECT_THAT(error.message(), HasSubstr("no store at 127.0.0.1:"));
        }
        EXPECT_LE(steady_clock::now() - start, seconds(1) + kAtOnce);
      },
      with_environment({"RANK=1", "WORLD_SIZE=2", "TALLY_STORE",
                        "MASTER_ADDR=127.0.0.1",
                        "MASTER_PORT=" + free_port()}));
  expect_success(ranks);
}

}  // namespace
}  // namespace tally::sync
