#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>

namespace tally::cli {

/// Shows a rank's progress after the first second: a single line that is
/// overwritten, and erased at the end.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  /// Writes nothing if `out` is null.
  explicit Progress(std::ostream* out, Now now = Clock::now);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::int64_t done, std::int64_t rows);

 private:
  std::ostream* out_;
  Now now_;
  Clock::time_point next_;
  bool is_shown_ = false;
};

}  // namespace tally::cli
