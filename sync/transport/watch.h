#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace tally::sync::internal {

/// Looks, on a thread of its own, after a wait that takes long. One at a time.
class Watch {
 public:
  /// Looks after `first` at the earliest, and then less and less often, after
  /// at most `most`.
  Watch(std::chrono::milliseconds first, std::chrono::milliseconds most)
      : first_(first), most_(most) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// A wait, as long as this lives. `look` is not running when it has gone; one
  /// that throws is made again later.
  class Wait {
   public:
    Wait(Watch& watch, std::function<void()> look);
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait();

   private:
    friend class Watch;

    Watch& watch_;
    std::function<void()> look_;
    std::chrono::steady_clock::time_point next_;
    std::chrono::milliseconds pause_;
  };

 private:
  void run();
  void look_if_late();

  const std::chrono::milliseconds first_;
  const std::chrono::milliseconds most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Wait* wait_ = nullptr;
  std::uint64_t begun_ = 0;
  bool idle_ = true;  // nothing is looked after until changed_
  bool ends_ = false;
  std::thread thread_;  // begins with the first wait
};

}  // namespace tally::sync::internal
