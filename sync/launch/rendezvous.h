#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "tally/sync/transport/deadline.h"

namespace tally::sync::internal {

/// What a thread that may be left behind is doing.
class Progress {
 public:
  struct Step {
    std::string doing;         ///< goes on "after 3000 ms of "
    std::vector<int> missing;  ///< the ranks that it waits for, if known
  };

  void set(std::string doing, std::vector<int> missing = {});
  Step get() const;

 private:
  mutable std::mutex mutex_;
  Step step_;
};

/// "rank 3", "ranks 1 2 3", at most ten of them and then how many there are
/// more; `all` if that is more than are known.
std::string listed(const std::vector<int>& ranks, std::int64_t all = 0);

/// Makes the ranks known to each other through the store before any of them
/// connects, so that a rank that is missing or there twice has a name. The
/// first rank that cannot go on ends it for all of them.
class Rendezvous {
 public:
  /// What must outlive it is the store alone.
  Rendezvous(c10d::Store& store, std::string store_name, int rank, int size,
             std::chrono::milliseconds timeout);

  /// Each rank's host and process. SyncError kTimeout or kMismatch; what the
  /// store throws, as SyncError.
  std::vector<std::string> meet(const Deadline& deadline, Progress& progress);

  /// For Roster: which of its collectives a rank waits in, in the store.
  static std::string call_key(int rank);

 private:
  void arrive();
  std::string outcome(const Deadline& deadline, Progress& progress);
  void look_for_missing(std::size_t most);
  /// Decides how the meeting ends, unless that is decided; how it ended.
  std::string decide(const std::string& outcome);
  void decide_met();
  /// How it ended for all: with this rank's timeout, unless others were faster.
  std::string time_out();
  [[noreturn]] void refuse(const std::string& reason);
  [[noreturn]] void report(const std::string& outcome);
  std::string used_before();

  c10d::Store& store_;
  std::string store_name_;
  int rank_;
  int size_;
  std::chrono::milliseconds timeout_;
  bool arrived_ = false;
  std::vector<int> missing_;  // those that are known to be
};

}  // namespace tally::sync::internal
