#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace tally {

/// Where progress is shown, which decides how.
enum class ProgressStyle {
  kTerminal,  ///< a line that is overwritten, and erased at the end
  kNotebook,  ///< the same by spaces alone, without a terminal's codes
  kLog,       ///< a line every 30 seconds
};

/// Shows how far something long has come, how long it will take, and values:
///
///     12000 of 45000 rows (26%), 3400 rows/s, 10 s left
///     epoch 2 of 9: 12 of 40 batches (30%), 4.1 batches/s, 7 s left (70 s in
///     all), loss 0.3127, lr 0.001, 1.2 GB
///
/// A line is overwritten from the first second on; elsewhere, such as in a log,
/// there is a line every 30 seconds. Work that ends sooner writes nothing.
///
/// Thread-safety: one thread at a time.
///
/// Example:
///     Progress progress = Progress::on_stderr("batches");
///     for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
///       progress.start_outer("epoch", epoch + 1, 3);
///       for (std::int64_t i = 0; i < 100; ++i) {
///         progress.add_mean("loss", loss.item<double>());
///         progress.update(i + 1, 100);
///       }
///     }
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  /// Writes nothing if `out` is null. `unit`: of what is counted.
  explicit Progress(std::ostream* out,
                    ProgressStyle style = ProgressStyle::kLog,
                    std::string unit = "rows", Now now = Clock::now);
  /// On the standard error. With `shows` false, nothing is written: one rank of
  /// several shows progress.
  static Progress on_stderr(std::string unit = "rows", bool shows = true);
  /// Whether a line on the standard error can be erased: it is a terminal, and
  /// TERM is not dumb.
  static bool is_on_terminal();
  /// That of the standard error: in a kernel of Jupyter, kNotebook.
  static ProgressStyle style_of_stderr();
  /// What erases it.
  static constexpr const char* kClear = "\r\x1b[K";
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// From here on `unit` are counted, and means begin anew.
  void start(std::string unit);
  /// From here on the `number`-th of `all` is done, such as "epoch" 1 of 9,
  /// whose own parts are counted from 0 and whose means begin anew.
  void start_outer(std::string unit, std::int64_t number, std::int64_t all);
  /// Shows the mean of the values with this name, which are added one by one;
  /// NaN, once one is.
  void add_mean(const std::string& name, double value);
  /// Shows this value, such as a learning rate.
  void set(const std::string& name, double value);
  /// Shows the memory that this process has in use.
  void show_memory(bool shows = true) { shows_memory_ = shows; }
  /// `done` of `all` are done.
  void update(std::int64_t done, std::int64_t all);
  /// Erases the line.
  void end();

 private:
  struct Shown {
    std::string name;
    double sum;
    std::int64_t count;  // 0: sum is the value
  };
  Shown& shown(const std::string& name, bool is_mean);
  void forget_means();
  std::string line(std::int64_t done, std::int64_t all,
                   Clock::time_point now) const;
  // How much longer all of the outer parts take, if that can be said.
  std::string outer_left(double part, Clock::time_point now) const;

  std::ostream* out_;
  ProgressStyle style_;
  std::string unit_;
  Now now_;
  Clock::time_point begin_;
  Clock::time_point next_;
  std::string outer_unit_;
  std::int64_t outer_number_ = 0;
  std::int64_t outer_first_ = 0;
  std::int64_t outer_all_ = 0;
  Clock::time_point outer_begin_;
  std::vector<Shown> values_;
  bool shows_memory_ = false;
  std::size_t shown_ = 0;  // bytes on the line
};

}  // namespace tally
