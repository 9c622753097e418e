#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::testkit {

/// A rank's side, in a process of its own.
class ProcessRank {
 public:
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// A FileStore's path, the same on every rank, and fresh.
  const std::string& store_path() const { return store_path_; }
  /// The Gloo group of all ranks, over that store.
  std::shared_ptr<sync::Communicator> connect(
      std::chrono::milliseconds timeout = std::chrono::seconds(3)) const;
  /// Lets ProcessRanks::wait_ready return.
  void ready() const;
  /// Waits for ProcessRanks::go.
  void wait_go() const;

 private:
  friend class ProcessRanks;
  ProcessRank(int rank, int size, std::string store_path);

  int rank_;
  int size_;
  std::string store_path_;
};

struct ProcessRanksOptions {
  /// What is still running after this is killed, and its exit code kLate.
  std::chrono::seconds deadline{20};
  /// A rank's environment on top of RANK, WORLD_SIZE, LOCAL_RANK,
  /// LOCAL_WORLD_SIZE and TALLY_STORE: "NAME=value" sets, "NAME" removes.
  std::function<std::vector<std::string>(int rank)> environment;
};

/// Runs `body` in processes that are this test program, started again for the
/// current test alone: in them the constructor does not return. One to a test,
/// and nothing before it that the ranks should not do too.
///
///   ProcessRanks ranks(3, [](const ProcessRank& self) {
///     auto group = self.connect();
///     self.ready();
///     ...
///   });
///   ranks.wait_ready();
///   ranks.kill(1, SIGKILL);
///   EXPECT_EQ(ranks.join()[0].exit_code, ProcessRanks::kSyncError);
///
/// If the test fails, what the ranks wrote is shown.
class ProcessRanks {
 public:
  enum ExitCode {
    kOk = 0,
    kSyncError = 10,  ///< body threw a SyncError; its text is in the output
    kOther = 11,      ///< body threw something else, or an expectation failed
    kLate = 12,
  };

  struct Result {
    int exit_code;  ///< 128 + number for a signal
    std::chrono::steady_clock::time_point ended;
    std::string output;  ///< stdout and stderr
  };

  ProcessRanks(int ranks, const std::function<void(const ProcessRank&)>& body,
               ProcessRanksOptions options = {});
  ~ProcessRanks();
  ProcessRanks(const ProcessRanks&) = delete;
  ProcessRanks& operator=(const ProcessRanks&) = delete;

  /// Waits until the ranks called ready(); throws if one ends before.
  void wait_ready();
  void wait_ready(int rank);
  void go(int rank);
  void kill(int rank, int signal);
  /// Waits for the end of one rank, or of all but those that `kill` stopped.
  Result join(int rank);
  std::vector<Result> join();

 private:
  struct Child;

  bool wait_readable(const Child& child) const;
  std::string output_of(int rank) const;

  std::string directory_;
  std::chrono::steady_clock::time_point deadline_;
  std::vector<Child> children_;
};

}  // namespace tally::testkit
