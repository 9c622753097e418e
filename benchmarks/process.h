#pragma once

#include <malloc.h>

#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <string>

namespace tally::benchmarks {

/// A line of /proc/self/status, in MB.
inline double status_mb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != name + ":") continue;
    double kilobytes = 0;
    status >> kilobytes;
    return kilobytes / 1000;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// What this process has used of the cores.
inline double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e3 + double(time.tv_nsec) / 1e6;
}

/// The peak of resident memory during a call, above what was there before.
inline double peak_mb(const std::function<void()>& call) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << '5';
  const double before = status_mb("VmRSS");
  call();
  return status_mb("VmHWM") - before;
}

}  // namespace tally::benchmarks
