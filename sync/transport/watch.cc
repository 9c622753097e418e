#include "tally/sync/transport/watch.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "tally/sync/base/condition.h"

namespace tally::sync::internal {

using std::chrono::steady_clock;

Watch::~Watch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Watch::Wait::Wait(Watch& watch, std::function<void()> look)
    : watch_(watch),
      look_(std::move(look)),
      next_(steady_clock::now() + watch.first_),
      pause_(watch.first_) {
  bool wakes = false;
  {
    const std::lock_guard<std::mutex> lock(watch_.mutex_);
    if (!watch_.thread_.joinable()) {
      watch_.thread_ = std::thread([&watch] { watch.run(); });
    }
    watch_.wait_ = this;
    ++watch_.begun_;
    wakes = std::exchange(watch_.idle_, false);
  }
  if (wakes) watch_.changed_.notify_one();
}

Watch::Wait::~Wait() {
  const std::lock_guard<std::mutex> lock(watch_.mutex_);
  watch_.wait_ = nullptr;
}

// Wakes at the pace of the clock and not of the waits, most of which are short.
void Watch::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ends_) {
    const std::uint64_t begun = begun_;
    changed_.wait_until(lock, steady_clock::now() + first_,
                        [this] { return ends_; });
    if (ends_) return;
    look_if_late();
    if (wait_ == nullptr && begun == begun_) {
      idle_ = true;
      wait_until_done(changed_, lock, [this] { return ends_ || !idle_; });
    }
  }
}

void Watch::look_if_late() {
  if (wait_ == nullptr || steady_clock::now() < wait_->next_) return;
  try {
    wait_->look_();
  } catch (const std::exception&) {
  }
  wait_->pause_ = std::min(2 * wait_->pause_, most_);
  wait_->next_ = steady_clock::now() + wait_->pause_;
}

}  // namespace tally::sync::internal
