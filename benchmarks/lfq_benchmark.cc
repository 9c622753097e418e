// What one forward and backward pass of LFQ costs: see README.md.

#include <ATen/ops/randn.h>
#include <malloc.h>
#include <tally/losses/codebook/lfq.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "benchmarks/measure.h"
#include "benchmarks/target.h"

namespace {

/// A line of /proc/self/status, in MB.
double status_mb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != name + ":") continue;
    double kilobytes = 0;
    status >> kilobytes;
    return kilobytes / 1000;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::int64_t argument(int argc, char** argv, int place, std::int64_t fallback) {
  return argc > place ? std::atoll(argv[place]) : fallback;
}

}  // namespace

int main(int argc, char** argv) {
  tally::benchmarks::take_target(&argc, argv);
  const std::int64_t bits = argument(argc, argv, 1, 16);
  const std::int64_t tokens = argument(argc, argv, 2, 2048);
  const std::int64_t rounds = argument(argc, argv, 3, 5);
  tally::losses::LFQ lfq(tally::losses::LFQOptions().dim(bits));
  const at::Tensor x = at::randn({1, tokens, bits}).requires_grad_();
  const auto step = [&] { lfq->forward(x).aux_loss.backward(); };
  step();
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << '5';
  const double before = status_mb("VmRSS");
  step();
  const double peak = status_mb("VmHWM") - before;
  std::vector<double> times;
  for (std::int64_t i = 0; i < rounds; ++i) {
    times.push_back(tally::benchmarks::microseconds(step) / 1000);
  }
  std::printf(
      "{\"bits\": %lld, \"tokens\": %lld, \"best_ms\": %.3f, \"p50_ms\": %.3f, "
      "\"peak_mb\": %.1f}\n",
      static_cast<long long>(bits), static_cast<long long>(tokens),
      tally::benchmarks::quantile(times, 0),
      tally::benchmarks::quantile(times, 0.5), peak);
}
