#include "tally/cli/progress.h"

#include <ostream>
#include <utility>

namespace tally::cli {
namespace {

constexpr std::chrono::seconds kFirst{1};
constexpr std::chrono::milliseconds kBetween{200};
constexpr const char* kClear = "\r\x1b[K";

}  // namespace

Progress::Progress(std::ostream* out, Now now)
    : out_(out), now_(std::move(now)), next_(now_() + kFirst) {}

Progress::~Progress() {
  if (is_shown_) *out_ << kClear << std::flush;
}

void Progress::update(std::int64_t done, std::int64_t rows) {
  if (out_ == nullptr) return;
  const Clock::time_point now = now_();
  if (now < next_) return;
  next_ = now + kBetween;
  is_shown_ = true;
  const auto percent = static_cast<int>(100.0 * done / rows);
  *out_ << kClear << done << " of " << rows << " rows (" << percent << "%)"
        << std::flush;
}

}  // namespace tally::cli
