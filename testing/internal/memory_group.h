#pragma once

#include <chrono>
#include <memory>

#include "tally/sync/communicator.h"

namespace tally::testkit {

/// Communicators of ranks that are threads of this process.
class MemoryGroup {
 public:
  MemoryGroup(int ranks, std::chrono::milliseconds timeout);

  std::shared_ptr<sync::Communicator> communicator(int rank) const;
  /// Removes the rank: others that wait for it, now or later, get kPeerLost.
  void leave(int rank);

 private:
  class Meetings;
  class Member;
  std::shared_ptr<Meetings> meetings_;
  int size_;
  std::chrono::milliseconds timeout_;
};

}  // namespace tally::testkit
