#include "tally/metrics/progress.h"

#include <utility>

namespace tally {
namespace {

using Clock = std::chrono::steady_clock;

thread_local ProgressGuard* current = nullptr;

}  // namespace

ProgressGuard::ProgressGuard(Handler handler, std::chrono::milliseconds pause)
    : handler_(std::move(handler)),
      pause_(pause),
      next_(Clock::now() + pause),
      outer_(std::exchange(current, this)) {}

ProgressGuard::~ProgressGuard() { current = outer_; }

void report_progress(const char* unit, std::int64_t done, std::int64_t all) {
  if (current == nullptr || Clock::now() < current->next_) return;
  current->handler_({unit, done, all});
  current->next_ = Clock::now() + current->pause_;
}

}  // namespace tally
