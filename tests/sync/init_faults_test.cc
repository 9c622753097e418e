#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "tally/sync/init.h"
#include "tally/tests/testing/deadlines.h"
#include "tally/tests/testing/free_port.h"
#include "tally/tests/testing/process_ranks.h"

// How init_from_env ends when ranks, stores and servers are missing, silent or
// not what they should be: within its timeout, and saying which.

namespace tally::sync {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::tally::testkit::free_port;
using ::tally::testkit::kAtOnce;
using ::tally::testkit::kLongTimeout;
using ::tally::testkit::ProcessRank;
using ::tally::testkit::ProcessRanks;
using ::tally::testkit::ProcessRanksOptions;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

ProcessRanksOptions with_environment(std::vector<std::string> changes) {
  ProcessRanksOptions options;
  options.environment = [=](int) { return changes; };
  return options;
}

// Where the ranks look for a store that they do not host themselves.
std::vector<std::string> hosted_at(const std::string& port) {
  return {"TALLY_STORE",
          "MASTER_ADDR=127.0.0.1",
          "MASTER_PORT=" + port,
          "TORCHELASTIC_USE_AGENT_STORE=True",
          "TORCHELASTIC_RUN_ID=job",
          "TORCHELASTIC_RESTART_COUNT=0"};
}

SyncError error_of_init(milliseconds timeout) {
  InitOptions options;
  options.timeout = timeout;
  const auto start = steady_clock::now();
  try {
    init_from_env(options);
  } catch (const SyncError& error) {
    EXPECT_LE(steady_clock::now() - start, timeout + kAtOnce);
    return error;
  }
  throw std::logic_error("init_from_env succeeded");
}

void expect_success(ProcessRanks& ranks) {
  for (const auto& result : ranks.join()) {
    EXPECT_EQ(result.exit_code, ProcessRanks::kOk);
  }
}

// A rank alone, with a store at `path`, which `prepare` makes before.
template <class Prepare>
void expect_refused_path(const std::string& name, const Prepare& prepare,
                         const std::string& reason) {
  const std::string path = ::testing::TempDir() + "/" + name;
  ProcessRanksOptions options;
  options.environment = [&](int) -> std::vector<std::string> {
    prepare(path);
    return {"WORLD_SIZE=2", "TALLY_STORE=" + path};
  };
  ProcessRanks ranks(
      1,
      [&](const ProcessRank&) {
        const auto start = steady_clock::now();
        const SyncError error = error_of_init(kLongTimeout);
        EXPECT_LE(steady_clock::now() - start, kAtOnce);
        EXPECT_EQ(error.code(), SyncErrorCode::kTransport);
        EXPECT_EQ(error.message(),
                  "no store at " + path + " (TALLY_STORE): " + reason);
      },
      options);
  expect_success(ranks);
  std::filesystem::remove(path);
}

/// Holds the store until rank 1 has come to it, then raises the signal.
void hold_store_until_met(int signal) {
  c10d::TCPStoreOptions options;
  options.port = std::stoi(std::getenv("MASTER_PORT"));
  options.isServer = true;
  options.waitWorkers = false;
  c10d::TCPStore store("127.0.0.1", options);
  store.wait({"tally/job/0/tally/rank/1"}, seconds(15));
  std::raise(signal);
}

TEST(InitFaultsTest, AStoreWithoutAFolderIsRefusedAtOnce) {
  expect_refused_path(
      "no-such-folder/store", [](const std::string&) {},
      "cannot be opened: No such file or directory");
}

TEST(InitFaultsTest, AFileThatIsNoStoreIsRefusedAtOnce) {
  expect_refused_path(
      "random-bytes",
      [](const std::string& path) {
        std::ofstream file(path, std::ios::binary);
        std::mt19937 random(5);
        for (int i = 0; i < 100'000; ++i) file.put(static_cast<char>(random()));
      },
      "expected a new file, or one that the other ranks' stores are in");
}

TEST(InitFaultsTest, APipeAsAStoreIsRefusedAtOnce) {
  expect_refused_path(
      "store-pipe", [](const std::string& path) { mkfifo(path.c_str(), 0600); },
      "expected a file");
}

TEST(InitFaultsTest, AServerThatSaysNothingIsATimeout) {
  int server = -1;
  ProcessRanksOptions options;
  options.environment = [&](int) {
    server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    bind(server, generic, length);
    listen(server, 8);
    getsockname(server, generic, &length);
    auto changes = hosted_at(std::to_string(ntohs(address.sin_port)));
    changes.emplace_back("WORLD_SIZE=2");
    return changes;
  };
  ProcessRanks ranks(
      1,
      [](const ProcessRank&) {
        const SyncError error = error_of_init(milliseconds(1500));
        EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
        EXPECT_THAT(error.message(),
                    AnyOf(AllOf(HasSubstr("no store at 127.0.0.1:"),
                                HasSubstr("nothing answered within 1500 ms")),
                          HasSubstr("asking the store at 127.0.0.1:")));
      },
      options);
  expect_success(ranks);
  close(server);
}

TEST(InitFaultsTest, AStoreThatStopsIsATimeout) {
  ProcessRanks ranks(
      2,
      [](const ProcessRank& self) {
        if (self.rank() == 0) hold_store_until_met(SIGSTOP);
        const SyncError error = error_of_init(milliseconds(2000));
        EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
        EXPECT_THAT(error.message(), HasSubstr("gave up after "));
      },
      with_environment(hosted_at(free_port())));
  EXPECT_EQ(ranks.join(1).exit_code, ProcessRanks::kOk);
}

TEST(InitFaultsTest, TenOfManyMissingRanksAreNamed) {
  ProcessRanks ranks(
      2,
      [](const ProcessRank&) {
        const SyncError error = error_of_init(milliseconds(1000));
        EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
        EXPECT_EQ(error.details().peers.size(), 48u);
        EXPECT_THAT(error.message(),
                    HasSubstr("missing are ranks 2 3 4 5 6 7 8 9 10 11 and 38 "
                              "more"));
        EXPECT_THAT(error.what_without_backtrace(),
                    HasSubstr("peers 2 3 4 5 6 7 8 9 10 11 and 38 more"));
      },
      with_environment({"WORLD_SIZE=50"}));
  expect_success(ranks);
}

// Rank 0 holds the store, and gives up before the other.
TEST(InitFaultsTest, AllRanksHearWhoIsMissing) {
  ProcessRanks ranks(
      2,
      [](const ProcessRank& self) {
        const auto start = steady_clock::now();
        const SyncError error =
            error_of_init(seconds(self.rank() == 0 ? 2 : 9));
        EXPECT_LE(steady_clock::now() - start, kAtOnce);
        EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
        EXPECT_EQ(error.details().peers, std::vector<int>{2});
        EXPECT_THAT(error.message(), HasSubstr("missing is rank 2"));
      },
      with_environment({"WORLD_SIZE=3", "TALLY_STORE", "MASTER_ADDR=127.0.0.1",
                        "MASTER_PORT=" + free_port()}));
  expect_success(ranks);
}

TEST(InitFaultsTest, ARankThatDiesWithTheStoreIsLost) {
  ProcessRanks ranks(
      2,
      [](const ProcessRank& self) {
        if (self.rank() == 0) hold_store_until_met(SIGKILL);
        const SyncError error = error_of_init(kLongTimeout);
        EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost) << error.what();
        EXPECT_THAT(error.message(), HasSubstr("lost the store at 127.0.0.1:"));
      },
      with_environment(hosted_at(free_port())));
  const auto results = ranks.join();
  EXPECT_EQ(results[0].exit_code, 128 + SIGKILL);
  EXPECT_EQ(results[1].exit_code, ProcessRanks::kOk);
}

TEST(InitFaultsTest, ASecondTryAfterATimeoutSaysSo) {
  ProcessRanks ranks(
      1,
      [](const ProcessRank&) {
        const SyncError first = error_of_init(milliseconds(500));
        const SyncError second = error_of_init(kLongTimeout);
        EXPECT_EQ(second.code(), SyncErrorCode::kGroupBroken);
        EXPECT_THAT(second.message(),
                    AllOf(HasSubstr("init_from_env failed before"),
                          HasSubstr(first.message())));
      },
      with_environment({"WORLD_SIZE=2"}));
  expect_success(ranks);
}

TEST(InitFaultsTest, AProcessThatComesAfterATimeoutIsToldOfIt) {
  ProcessRanks ranks(
      2,
      [](const ProcessRank& self) {
        if (self.rank() == 1) self.wait_go();
        const SyncError error = error_of_init(milliseconds(1000));
        if (self.rank() == 0) return;
        EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
        EXPECT_THAT(error.message(),
                    AllOf(HasSubstr("two processes have rank 0"),
                          HasSubstr("which ended so: not all ranks arrived")));
      },
      with_environment({"RANK=0"}));
  EXPECT_EQ(ranks.join(0).exit_code, ProcessRanks::kOk);
  ranks.go(1);
  EXPECT_EQ(ranks.join(1).exit_code, ProcessRanks::kOk);
}

TEST(InitFaultsTest, TheLongestTimeoutsCanBeWaitedFor) {
  ProcessRanks ranks(2, [](const ProcessRank&) {
    InitOptions options;
    options.timeout = milliseconds::max();
    EXPECT_EQ(init_from_env(options)->timeout(), milliseconds::max());
  });
  expect_success(ranks);
}

TEST(InitFaultsTest, AStoreIsFreeAgainOnceAllRanksMet) {
  ProcessRanks ranks(2, [](const ProcessRank& self) {
    init_from_env();
    if (self.rank() > 0) return;
    EXPECT_FALSE(std::filesystem::exists(self.store_path()));
  });
  expect_success(ranks);
}

TEST(InitFaultsTest, ConnectionsAreClosedInOtherPrograms) {
  ProcessRanks ranks(
      2,
      [](const ProcessRank& self) {
        const auto group = init_from_env();
        int connections = 0;
        for (int fd = 3; fd < 1000; ++fd) {
          sockaddr_in address{};
          socklen_t length = sizeof address;
          auto* generic = reinterpret_cast<sockaddr*>(&address);
          if (getsockname(fd, generic, &length) != 0) continue;
          ++connections;
          EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC)
              << "rank " << self.rank() << ", descriptor " << fd;
        }
        EXPECT_GE(connections, 3);  // a peer, its listener, the store
      },
      with_environment({"TALLY_STORE", "MASTER_ADDR=127.0.0.1",
                        "MASTER_PORT=" + free_port()}));
  expect_success(ranks);
}

}  // namespace
}  // namespace tally::sync
