#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace tally::sync::internal {

/// `changed.wait(lock, done)` for libraries that run with an older libstdc++
/// than they are built with: GCC 12's `wait` is a function that GCC 11's lacks.
template <class Done>
void wait_until_done(std::condition_variable& changed,
                     std::unique_lock<std::mutex>& lock, Done done) {
  while (!changed.wait_until(lock, std::chrono::steady_clock::time_point::max(),
                             done)) {
  }
}

}  // namespace tally::sync::internal
