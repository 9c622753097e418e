#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace tally {

/// How far a call that takes long has come: `done` of `all` `unit`, such as
/// "metrics" of a collection, "slices", "replicates" and "rows" of an interval,
/// or "curves" of many classes and "scores" of a curve, where there are more
/// than 2^23 rows (docs/cost.md). Their number begins anew with each part of
/// the work.
struct ComputeProgress {
  std::string unit;
  std::int64_t done = 0;
  std::int64_t all = 0;
};

/// While it exists, calls of this thread that compute values report their
/// progress: compute() of collections, slices, intervals and curves, and of
/// objects that contain them. The function of the innermost guard is called, on
/// this thread, at most once every `pause`. An exception from it ends the call
/// as an error of the metric would: nothing accumulated is lost.
///
/// Example:
///     const ProgressGuard guard([](const ComputeProgress& progress) {
///       std::cerr << progress.done << " of " << progress.all << "\n";
///     });
///     metric.compute();
class ProgressGuard {
 public:
  using Handler = std::function<void(const ComputeProgress&)>;

  explicit ProgressGuard(Handler handler, std::chrono::milliseconds pause =
                                              std::chrono::milliseconds(250));
  ~ProgressGuard();
  ProgressGuard(const ProgressGuard&) = delete;
  ProgressGuard& operator=(const ProgressGuard&) = delete;

 private:
  friend void report_progress(const char* unit, std::int64_t done,
                              std::int64_t all);

  Handler handler_;
  std::chrono::milliseconds pause_;
  std::chrono::steady_clock::time_point next_;
  ProgressGuard* outer_;
};

/// For what computes: tells the guard of this thread, if there is one. Not
/// between collectives, where other ranks would wait for one that throws.
void report_progress(const char* unit, std::int64_t done, std::int64_t all);

}  // namespace tally
