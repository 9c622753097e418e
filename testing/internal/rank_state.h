#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tally/sync/communicator.h"
#include "tally/testing/fault.h"
#include "tally/testing/faulty_communicator.h"
#include "tally/testing/internal/host.h"

namespace c10d {
class ProcessGroup;
}  // namespace c10d

namespace tally::testkit::internal {

/// The implementation of a Rank.
class RankState final {
 public:
  RankState(Host& host, int rank, int size, std::chrono::milliseconds timeout);
  ~RankState();
  RankState(const RankState&) = delete;
  RankState& operator=(const RankState&) = delete;

  Host& host() const noexcept { return host_; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  /// `watch` must outlive the group; may be null.
  void set_group(std::shared_ptr<sync::Communicator> group, CallWatch* watch);
  const std::shared_ptr<sync::Communicator>& group() const;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group();
  /// Closes the groups: ranks that wait for this one notice the loss.
  void leave();

  void inject(const Fault& fault, std::int64_t call);
  /// The faults that have not happened, for a message; empty if none.
  std::string faults_left() const;
  /// Throws std::invalid_argument unless it is a rank of the test.
  void check_rank(const char* what, int rank) const;

 private:
  struct Planned {
    Fault fault;
    std::int64_t call;
  };

  void before(std::int64_t call);

  Host& host_;
  const int rank_;
  const int size_;
  const std::chrono::milliseconds timeout_;
  std::shared_ptr<sync::Communicator> group_;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group_;
  mutable std::mutex mutex_;
  std::vector<Planned> faults_;
};

}  // namespace tally::testkit::internal
