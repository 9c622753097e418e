#include "tally/sinks/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>

namespace tally {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds kFirst{1};
constexpr std::chrono::milliseconds kBetween{200};
constexpr std::chrono::seconds kBetweenLines{30};

/// A terminal's columns, of which the last stays free: a line that wraps cannot
/// be erased.
std::size_t columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col > 1 ? size.ws_col - 1u : 79;
}

/// "3400", "3.4".
std::string rate_text(double rate) {
  if (rate >= 10) return std::to_string(std::llround(rate));
  const auto tenths = std::llround(rate * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

/// "10 s", "4 min", "2 h 5 min".
std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 100) return std::to_string(whole) + " s";
  const std::int64_t minutes = (whole + 59) / 60;
  if (minutes < 100) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) +
         " min";
}

}  // namespace

Progress::Progress(std::ostream* out, bool is_terminal, std::string unit,
                   Now now)
    : out_(out),
      is_terminal_(is_terminal),
      unit_(std::move(unit)),
      now_(std::move(now)),
      begin_(now_()),
      next_(begin_ + (is_terminal ? kFirst : kBetweenLines)) {}

Progress Progress::on_stderr(std::string unit, bool shows) {
  return Progress(shows ? &std::cerr : nullptr, is_on_terminal(),
                  std::move(unit));
}

bool Progress::is_on_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && kind != nullptr &&
         std::string_view(kind) != "dumb";
}

Progress::~Progress() { end(); }

void Progress::end() {
  if (is_shown_) *out_ << kClear << std::flush;
  is_shown_ = false;
}

void Progress::start(std::string unit) {
  unit_ = std::move(unit);
  begin_ = now_();
}

void Progress::update(std::int64_t done, std::int64_t all) {
  if (out_ == nullptr) return;
  const Clock::time_point now = now_();
  if (now < next_) return;
  next_ = is_terminal_ ? now + kBetween : now + kBetweenLines;
  std::string line =
      std::to_string(done) + " of " + std::to_string(all) + " " + unit_;
  const double rate = static_cast<double>(done) / Seconds(now - begin_).count();
  if (all > 0) {
    const double part = static_cast<double>(done) / static_cast<double>(all);
    line += " (" + std::to_string(static_cast<int>(100 * part)) + "%)";
  }
  if (done > 0) {
    line += ", " + rate_text(rate) + " " + unit_ + "/s, " +
            duration_text(static_cast<double>(all - done) / rate) + " left";
  }
  if (is_terminal_) {
    *out_ << kClear << line.substr(0, columns()) << std::flush;
    is_shown_ = true;
  } else {
    *out_ << line + "\n" << std::flush;
  }
}

}  // namespace tally
