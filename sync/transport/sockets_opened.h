#pragma once

#include <set>

namespace tally::sync::internal {

/// Records the sockets opened during its lifetime. LibTorch and Gloo leave
/// theirs open in programs started by this process, where they would hide its
/// end from its peers.
class SocketsOpened {
 public:
  SocketsOpened();

  /// Closes them in every program started from now on.
  void close_on_exec() const;

 private:
  std::set<int> before_;
};

}  // namespace tally::sync::internal
