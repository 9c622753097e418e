#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "tally/sync/init.h"
#include "tally/tests/sync/init_fixture.h"
#include "tally/tests/testing/deadlines.h"

// How init_from_env ends when ranks, stores and servers are missing, silent or
// not what they should be: within its timeout, and saying which.

namespace tally::sync {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::tally::testkit::kAtOnce;
using ::tally::testkit::kLongTimeout;
using ::tally::testkit::Rank;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

SyncError error_of_init(milliseconds timeout) {
  InitOptions options;
  options.timeout = timeout;
  const auto start = steady_clock::now();
  const auto error = testkit::sync_error_of([&] { init_from_env(options); });
  EXPECT_LE(steady_clock::now() - start, timeout + kAtOnce);
  return error.value();
}

class InitFaultsTest : public testkit::InitFixture {
 protected:
  /// Where ranks look for a store that they do not host themselves.
  static void look_for_store_at(const std::string& port) {
    change_environment(
        {"TALLY_STORE", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port,
         "TORCHELASTIC_USE_AGENT_STORE=True", "TORCHELASTIC_RUN_ID=job",
         "TORCHELASTIC_RESTART_COUNT=0"});
  }
  /// Rank 0 holds that store until rank 1 has come to it, and then does this.
  template <class Then>
  static void hold_store(const Rank& self, const Then& then) {
    c10::intrusive_ptr<c10d::TCPStore> store;
    look_for_store_at(host_store(self, store));
    if (self.rank() != 0) return;
    store->wait({"tally/job/0/tally/rank/1"}, seconds(15));
    then();
  }
  static void expect_refused_path(const std::string& path,
                                  const std::string& reason) {
    change_environment({"WORLD_SIZE=2", "TALLY_STORE=" + path});
    const auto start = steady_clock::now();
    const SyncError error = error_of_init(kLongTimeout);
    EXPECT_LE(steady_clock::now() - start, kAtOnce);
    EXPECT_EQ(error.code(), SyncErrorCode::kTransport);
    EXPECT_EQ(error.message(),
              "no store at " + path + " (TALLY_STORE): " + reason);
  }
};

RANKS_TEST_F(InitFaultsTest, AStoreWithoutAFolderIsRefusedAtOnce, 1) {
  expect_refused_path(store_path() + "/store",
                      "cannot be opened: No such file or directory");
}

RANKS_TEST_F(InitFaultsTest, AFileThatIsNoStoreIsRefusedAtOnce, 1) {
  std::ofstream file(store_path(), std::ios::binary);
  std::mt19937 random(5);
  for (int i = 0; i < 100'000; ++i) file.put(static_cast<char>(random()));
  file.close();
  expect_refused_path(
      store_path(),
      "expected a new file, or one that the other ranks' stores are in");
}

RANKS_TEST_F(InitFaultsTest, APipeAsAStoreIsRefusedAtOnce, 1) {
  mkfifo(store_path().c_str(), 0600);
  expect_refused_path(store_path(), "expected a file");
}

RANKS_TEST_F(InitFaultsTest, AServerThatSaysNothingIsATimeout, 1) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  bind(server, generic, length);
  listen(server, 8);
  getsockname(server, generic, &length);
  look_for_store_at(std::to_string(ntohs(address.sin_port)));
  change_environment({"WORLD_SIZE=2"});
  const SyncError error = error_of_init(milliseconds(1500));
  EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
  EXPECT_THAT(error.message(),
              AnyOf(AllOf(HasSubstr("no store at 127.0.0.1:"),
                          HasSubstr("nothing answered within 1500 ms")),
                    HasSubstr("asking the store at 127.0.0.1:")));
  close(server);
}

RANKS_TEST_F(InitFaultsTest, AStoreThatStopsIsATimeout, 2) {
  hold_store(self, [&] { self.stop(); });
  const SyncError error = error_of_init(milliseconds(2000));
  EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
  EXPECT_THAT(error.message(), HasSubstr("gave up after "));
}

RANKS_TEST_F(InitFaultsTest, TenOfManyMissingRanksAreNamed, 2) {
  change_environment({"WORLD_SIZE=50"});
  self.barrier();
  const SyncError error = error_of_init(milliseconds(1000));
  EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
  EXPECT_EQ(error.details().peers.size(), 48u);
  EXPECT_THAT(error.message(),
              HasSubstr("missing are ranks 2 3 4 5 6 7 8 9 10 11 and 38 more"));
  EXPECT_THAT(error.what_without_backtrace(),
              HasSubstr("peers 2 3 4 5 6 7 8 9 10 11 and 38 more"));
}

// Rank 0 holds the store, and gives up before the other.
RANKS_TEST_F(InitFaultsTest, AllRanksHearWhoIsMissing, 2) {
  change_environment({"WORLD_SIZE=3", "TALLY_STORE", "MASTER_ADDR=127.0.0.1",
                      "MASTER_PORT=" + agreed_port(self)});
  self.barrier();
  const auto start = steady_clock::now();
  const SyncError error = error_of_init(seconds(self.rank() == 0 ? 2 : 9));
  EXPECT_LE(steady_clock::now() - start, kAtOnce);
  EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
  EXPECT_EQ(error.details().peers, std::vector<int>{2});
  EXPECT_THAT(error.message(), HasSubstr("missing is rank 2"));
}

RANKS_TEST_F(InitFaultsTest, ARankThatDiesWithTheStoreIsLost, 2) {
  hold_store(self, [&] { self.die(); });
  const SyncError error = error_of_init(kLongTimeout);
  EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost) << error.what();
  EXPECT_THAT(error.message(), HasSubstr("lost the store at 127.0.0.1:"));
}

RANKS_TEST_F(InitFaultsTest, ASecondTryAfterATimeoutSaysSo, 1) {
  change_environment({"WORLD_SIZE=2"});
  const SyncError first = error_of_init(milliseconds(500));
  const SyncError second = error_of_init(kLongTimeout);
  EXPECT_EQ(second.code(), SyncErrorCode::kGroupBroken);
  EXPECT_THAT(second.message(), AllOf(HasSubstr("init_from_env failed earlier"),
                                      HasSubstr(first.message())));
}

RANKS_TEST_F(InitFaultsTest, AProcessThatComesAfterATimeoutIsToldOfIt, 2) {
  change_environment({"RANK=0"});
  if (self.rank() == 1) self.wait_for_end(0);
  const SyncError error = error_of_init(milliseconds(1000));
  if (self.rank() == 0) return;
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_THAT(error.message(),
              AllOf(HasSubstr("two processes have rank 0"),
                    HasSubstr("which ended so: not all ranks arrived")));
}

RANKS_TEST_F(InitFaultsTest, TheLongestTimeoutsCanBeWaitedFor, 2) {
  InitOptions options;
  options.timeout = milliseconds::max();
  EXPECT_EQ(init_from_env(options)->timeout(), milliseconds::max());
}

RANKS_TEST_F(InitFaultsTest, AStoreIsFreeAgainOnceAllRanksMet, 2) {
  init_from_env();
  if (self.rank() > 0) return;
  EXPECT_FALSE(std::filesystem::exists(store_path()));
}

RANKS_TEST_F(InitFaultsTest, ConnectionsAreClosedInOtherPrograms, 2) {
  change_environment({"TALLY_STORE", "MASTER_ADDR=127.0.0.1",
                      "MASTER_PORT=" + agreed_port(self)});
  const auto group = init_from_env();
  int connections = 0;
  for (int fd = 3; fd < 1000; ++fd) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (getsockname(fd, generic, &length) != 0) continue;
    connections += address.sin_family != AF_UNIX;
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC)
        << "rank " << self.rank() << ", descriptor " << fd;
  }
  EXPECT_GE(connections, 3);  // a peer, its listener, the store
}

}  // namespace
}  // namespace tally::sync
