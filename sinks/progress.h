#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

namespace tally {

/// Shows how far something long has come, and how long it will take:
///
///     12000 of 45000 rows (26%), 3400 rows/s, 10 s left
///
/// On a terminal a line that is overwritten, from the first second on, and
/// erased at the end; elsewhere, such as in a log, a line every 30 seconds.
/// Work that ends sooner writes nothing.
///
/// Thread-safety: one thread at a time.
///
/// Example:
///     Progress progress = Progress::on_stderr("batches");
///     for (std::int64_t i = 0; i < 100; ++i) {
///       progress.update(i + 1, 100);
///     }
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  /// Writes nothing if `out` is null. `unit`: of what is counted.
  explicit Progress(std::ostream* out, bool is_terminal = false,
                    std::string unit = "rows", Now now = Clock::now);
  /// On the standard error. With `shows` false, nothing is written: one rank of
  /// several shows progress.
  static Progress on_stderr(std::string unit = "rows", bool shows = true);
  /// Whether a line on the standard error can be erased: it is a terminal, and
  /// TERM is not dumb.
  static bool is_on_terminal();
  /// What erases it.
  static constexpr const char* kClear = "\r\x1b[K";
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// From here on `unit` are counted.
  void start(std::string unit);
  /// `done` of `all` are done.
  void update(std::int64_t done, std::int64_t all);
  /// Erases the line.
  void end();

 private:
  std::ostream* out_;
  bool is_terminal_;
  std::string unit_;
  Now now_;
  Clock::time_point begin_;
  Clock::time_point next_;
  bool is_shown_ = false;
};

}  // namespace tally
