#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "tally/sync/base/deadline.h"

namespace tally::sync::internal {

/// Ranks that a message names.
inline constexpr std::size_t kMostNamed = 10;

/// The progress of a thread that may be abandoned.
class Progress {
 public:
  struct Step {
    std::string doing;         ///< completes "after 3000 ms of "
    std::vector<int> missing;  ///< the awaited ranks, if known
  };

  void set(std::string doing, std::vector<int> missing = {});
  Step get() const;

 private:
  mutable std::mutex mutex_;
  Step step_;
};

/// "rank 3", "ranks 1 2 3", at most ten of them, followed by the number of
/// others; `all` is the total if more than the known ones.
std::string listed(const std::vector<int>& ranks, std::int64_t all = 0);

/// Registers the ranks in the store before any of them connects, so that
/// missing or duplicate ranks can be named. The first rank that cannot continue
/// ends it for all of them.
class Rendezvous {
 public:
  /// Only the store must outlive it.
  Rendezvous(c10d::Store& store, std::string store_name, int rank, int size,
             std::chrono::milliseconds timeout);

  /// Returns each rank's host and process. Throws SyncError kTimeout or
  /// kMismatch; errors of the store are converted to SyncError.
  std::vector<std::string> meet(const Deadline& deadline, Progress& progress);

  /// For Roster: the store's key for the collective in which a rank waits.
  static std::string call_key(int rank);

 private:
  void arrive();
  std::string outcome(const Deadline& deadline, Progress& progress);
  void look_for_missing(std::size_t most);
  /// Decides the outcome of the meeting, unless it is already decided; returns
  /// the outcome.
  std::string decide(const std::string& outcome);
  void decide_met();
  /// The outcome for all: this rank's timeout, unless others were faster.
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
