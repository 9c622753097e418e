#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

namespace tally::sync::internal {

/// The longest time that transports wait, 24 days: the limit of poll(), and
/// safe to add to a clock. Longer timeouts are reduced to it.
inline constexpr std::chrono::milliseconds kLongestTimeout{
    std::numeric_limits<int>::max()};

inline std::chrono::milliseconds bounded(std::chrono::milliseconds timeout) {
  return std::min(timeout, kLongestTimeout);
}

/// The end of a timeout that several steps share.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::chrono::milliseconds timeout)
      : end_(Clock::now() + bounded(timeout)) {}

  Clock::time_point end() const { return end_; }
  bool passed() const { return Clock::now() >= end_; }
  /// At least 1 ms: for transports, 0 means no timeout.
  std::chrono::milliseconds left() const {
    return std::max(
        std::chrono::milliseconds(1),
        std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()));
  }

 private:
  Clock::time_point end_;
};

/// Runs a task that may block forever, such as waiting for a server's answer,
/// on a separate thread. Rethrows its exceptions; returns false at `end`,
/// abandoning the thread: the task must not refer to data of the caller.
bool run_until(Deadline::Clock::time_point end, std::function<void()> task);

}  // namespace tally::sync::internal
