#include "tally/sinks/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
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

/// Whatever the locale: "0.3127", "1e-05".
std::string value_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

/// "1.2 GB", "350 MB"; empty if the system does not say.
std::string memory_text() {
  std::ifstream file("/proc/self/statm");
  double size = 0;
  double resident = 0;
  if (!(file >> size >> resident)) return "";
  const double bytes = resident * static_cast<double>(sysconf(_SC_PAGESIZE));
  return bytes >= 1e9 ? rate_text(bytes / 1e9) + " GB"
                      : std::to_string(std::llround(bytes / 1e6)) + " MB";
}

}  // namespace

Progress::Progress(std::ostream* out, ProgressStyle style, std::string unit,
                   Now now)
    : out_(out),
      style_(style),
      unit_(std::move(unit)),
      now_(std::move(now)),
      begin_(now_()),
      next_(begin_ + (style == ProgressStyle::kLog ? kBetweenLines : kFirst)) {}

Progress Progress::on_stderr(std::string unit, bool shows) {
  return Progress(shows ? &std::cerr : nullptr, style_of_stderr(),
                  std::move(unit));
}

bool Progress::is_on_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && kind != nullptr &&
         std::string_view(kind) != "dumb";
}

ProgressStyle Progress::style_of_stderr() {
  if (is_on_terminal()) return ProgressStyle::kTerminal;
  return std::getenv("JPY_PARENT_PID") != nullptr ? ProgressStyle::kNotebook
                                                  : ProgressStyle::kLog;
}

Progress::~Progress() { end(); }

void Progress::end() {
  if (shown_ > 0) {
    if (style_ == ProgressStyle::kTerminal) {
      *out_ << kClear << std::flush;
    } else {
      *out_ << "\r" << std::string(shown_, ' ') << "\r" << std::flush;
    }
  }
  shown_ = 0;
}

void Progress::start(std::string unit) {
  unit_ = std::move(unit);
  begin_ = now_();
  forget_means();
}

void Progress::start_outer(std::string unit, std::int64_t number,
                           std::int64_t all) {
  begin_ = now_();
  if (unit != outer_unit_ || number <= outer_number_) {
    outer_begin_ = begin_;
    outer_first_ = number;
  }
  outer_unit_ = std::move(unit);
  outer_number_ = number;
  outer_all_ = all;
  forget_means();
}

void Progress::forget_means() {
  values_.erase(
      std::remove_if(values_.begin(), values_.end(),
                     [](const Shown& each) { return each.count > 0; }),
      values_.end());
}

Progress::Shown& Progress::shown(const std::string& name, bool is_mean) {
  for (Shown& each : values_) {
    if (each.name != name) continue;
    if ((each.count > 0) != is_mean) each = {name, 0, 0};
    return each;
  }
  return values_.emplace_back(Shown{name, 0, 0});
}

void Progress::add_mean(const std::string& name, double value) {
  Shown& each = shown(name, /*is_mean=*/true);
  each.sum += value;
  ++each.count;
}

void Progress::set(const std::string& name, double value) {
  shown(name, /*is_mean=*/false).sum = value;
}

std::string Progress::outer_left(double part, Clock::time_point now) const {
  const double done = static_cast<double>(outer_number_ - outer_first_) + part;
  const double left =
      static_cast<double>(outer_all_ - outer_number_ + 1) - part;
  if (outer_all_ == 0 || !(done > 0)) return "";
  const double seconds = Seconds(now - outer_begin_).count();
  return " (" + duration_text(seconds / done * left) + " in all)";
}

std::string Progress::line(std::int64_t done, std::int64_t all,
                           Clock::time_point now) const {
  std::string line;
  if (!outer_unit_.empty()) {
    line = outer_unit_ + " " + std::to_string(outer_number_) + " of " +
           std::to_string(outer_all_) + ": ";
  }
  line += std::to_string(done) + " of " + std::to_string(all) + " " + unit_;
  double part = 0;
  if (all > 0) {
    part = static_cast<double>(done) / static_cast<double>(all);
    line += " (" + std::to_string(static_cast<int>(100 * part)) + "%)";
  }
  if (done > 0) {
    const double rate =
        static_cast<double>(done) / Seconds(now - begin_).count();
    line += ", " + rate_text(rate) + " " + unit_ + "/s, " +
            duration_text(static_cast<double>(all - done) / rate) + " left" +
            outer_left(part, now);
  }
  for (const Shown& each : values_) {
    const double value =
        each.count == 0 ? each.sum : each.sum / static_cast<double>(each.count);
    line += ", " + each.name + " " + value_text(value);
  }
  const std::string memory = shows_memory_ ? memory_text() : "";
  return memory.empty() ? line : line + ", " + memory;
}

void Progress::update(std::int64_t done, std::int64_t all) {
  if (out_ == nullptr) return;
  const Clock::time_point now = now_();
  if (now < next_) return;
  const bool is_log = style_ == ProgressStyle::kLog;
  next_ = is_log ? now + kBetweenLines : now + kBetween;
  std::string text = line(done, all, now);
  if (is_log) {
    *out_ << text + "\n" << std::flush;
    return;
  }
  if (style_ == ProgressStyle::kTerminal) {
    text.resize(std::min(text.size(), columns()));
    *out_ << kClear << text << std::flush;
  } else {
    const std::size_t covered = std::max(shown_, text.size()) - text.size();
    *out_ << "\r" << text << std::string(covered, ' ') << std::flush;
  }
  shown_ = text.size();
}

}  // namespace tally
