#pragma once

#include <set>

namespace tally::sync::internal {

/// The connections that are made while it lives. LibTorch and Gloo leave theirs
/// open in programs that this process starts, where they would hide its end
/// from its peers.
class SocketsOpened {
 public:
  SocketsOpened();

  /// Closes them in every program that is started from now on.
  void close_on_exec() const;

 private:
  std::set<int> before_;
};

}  // namespace tally::sync::internal
