#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

namespace tally::sync::internal {

/// The longest time that transports are told to wait, 24 days: what poll()
/// takes, and what can be added to a clock. Longer timeouts count as this one.
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
  /// At least 1 ms: to transports, 0 is for ever.
  std::chrono::milliseconds left() const {
    return std::max(
        std::chrono::milliseconds(1),
        std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()));
  }

 private:
  Clock::time_point end_;
};

/// Runs a task that may block for ever, such as one that waits for a server's
/// answer, on a thread of its own. Throws what it throws; false at `end`, when
/// the thread is left to itself: the task may hold nothing of the caller's.
bool run_until(Deadline::Clock::time_point end, std::function<void()> task);

}  // namespace tally::sync::internal
