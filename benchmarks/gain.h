#pragma once

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "benchmarks/measure.h"

namespace tally::benchmarks {

struct NamedWork {
  const char* name;
  std::function<void()> work;
};

/// The best times of one thread and of all, of `work` and of others, in turn.
/// Counters: those times, the gain, that of each of the others as of_NAME, and
/// as ratio the gain divided by that of the first of them.
inline void compare_threads(benchmark::State& state,
                            const std::function<void()>& work,
                            const std::vector<NamedWork>& others) {
  struct Best {
    double one = std::numeric_limits<double>::infinity();
    double all = std::numeric_limits<double>::infinity();
    double gain() const { return one / all; }
  };
  const int threads = at::get_num_threads();
  if (threads == 1) return state.SkipWithError("has one thread");
  Best of_work;
  std::vector<Best> of_others(others.size());
  for (auto _ : state) {
    for (const bool all : {false, true}) {
      at::set_num_threads(all ? threads : 1);
      const auto keep_best = [&](Best& best, const auto& function) {
        double& time = all ? best.all : best.one;
        time = std::min(time, microseconds(function));
      };
      keep_best(of_work, work);
      for (std::size_t i = 0; i < others.size(); ++i) {
        keep_best(of_others[i], others[i].work);
      }
    }
  }
  state.counters["one_ms"] = of_work.one / 1e3;
  state.counters["all_ms"] = of_work.all / 1e3;
  state.counters["gain"] = of_work.gain();
  for (std::size_t i = 0; i < others.size(); ++i) {
    state.counters[std::string("of_") + others[i].name] = of_others[i].gain();
  }
  // One thread alone may not fetch as fast as it could look: no work gains more
  // than there are threads.
  state.counters["ratio"] =
      of_work.gain() / std::min<double>(of_others[0].gain(), threads);
}

}  // namespace tally::benchmarks
