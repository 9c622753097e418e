#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tally/sync/base/condition.h"

namespace tally::sync::internal {

/// A non-recursive lock: other threads may give up or wait.
class Turn {
 public:
  /// False if any thread holds it, including this one.
  bool try_enter() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (holder_ != std::thread::id()) return false;
    holder_ = std::this_thread::get_id();
    return true;
  }
  /// Waits until no other thread holds it. False if this thread does.
  bool enter() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (holder_ == std::this_thread::get_id()) return false;
    wait_until_done(left_, lock, [&] { return holder_ == std::thread::id(); });
    holder_ = std::this_thread::get_id();
    return true;
  }
  void leave() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      holder_ = std::thread::id();
    }
    left_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  std::thread::id holder_;
};

}  // namespace tally::sync::internal
