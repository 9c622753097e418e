// What a sync costs one rank of many: see README.md.

#include <ATen/core/Tensor.h>
#include <ATen/ops/randint.h>
#include <malloc.h>
#include <tally/metrics/metrics.h>
#include <tally/sync/communicator.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/scenarios.h"

namespace {

using std::chrono::milliseconds;
using tally::sync::Communicator;

// Rank 0 of ranks that all have what it has.
class Replay final : public Communicator {
 public:
  explicit Replay(int ranks)
      : Communicator(0, ranks, at::kCPU, tally::sync::kDefaultTimeout) {}
  std::string describe() const override { return "rank 0 of a replay"; }

  /// Bytes that this rank sends in a ring; it receives as many.
  std::int64_t sent() const { return sent_; }

 private:
  void do_all_gather(const at::Tensor& input, at::Tensor& output,
                     milliseconds) override {
    for (int r = 0; r < size(); ++r) {
      std::memcpy(
          static_cast<char*>(output.mutable_data_ptr()) + r * input.nbytes(),
          input.const_data_ptr(), input.nbytes());
    }
    sent_ += static_cast<std::int64_t>(input.nbytes()) * (size() - 1);
  }
  void do_all_reduce(at::Tensor& tensor, tally::sync::ReduceOp op,
                     milliseconds) override {
    if (op == tally::sync::ReduceOp::kSum) tensor.mul_(size());
    sent_ +=
        2 * static_cast<std::int64_t>(tensor.nbytes()) * (size() - 1) / size();
  }
  std::function<void()> do_start_all_gather(const at::Tensor& input,
                                            at::Tensor& output,
                                            milliseconds timeout) override {
    do_all_gather(input, output, timeout);
    return [] {};
  }
  void do_broadcast(at::Tensor&, int, milliseconds) override { unused(); }
  void do_all_to_all(const at::Tensor&, const std::vector<std::int64_t>&,
                     at::Tensor&, const std::vector<std::int64_t>&,
                     milliseconds) override {
    unused();
  }
  std::function<void()> do_start_send_receive(const at::Tensor&, int,
                                              at::Tensor&, int,
                                              milliseconds) override {
    unused();
  }
  [[noreturn]] static void unused() {
    TORCH_CHECK(false, "expected only what a sync of metrics enters");
  }

  std::int64_t sent_ = 0;
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

// In MB: the largest resident size since reset_peak().
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }
double memory(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != what) continue;
    double kilobytes = 0;
    status >> kilobytes;
    return kilobytes / 1024;
  }
  return 0;
}

void measure(const char* name, const tally::MetricCollection& original,
             int ranks, bool in_background = false) {
  auto replay = std::make_shared<Replay>(ranks);
  tally::MetricCollection metrics = original.clone();
  const tally::sync::CommunicatorGuard guard(replay);
  malloc_trim(0);
  reset_peak();
  const double before = memory("VmRSS:");
  const double start = cpu_seconds();
  if (in_background) {
    metrics.sync_async().wait();
  } else {
    metrics.compute();
  }
  const double cpu = cpu_seconds() - start;
  std::printf("%-22s %5d %11lld %12.3f %9.1f %9.2f\n", name, ranks,
              static_cast<long long>(replay->collectives()),
              static_cast<double>(replay->sent()) / (1 << 20),
              memory("VmHWM:") - before, cpu * 1e3);
}

tally::MetricCollection confusion(std::int64_t classes) {
  tally::MetricCollection metrics(tally::benchmarks::uncached());
  metrics.add("confusion", tally::MulticlassConfusionMatrix(classes));
  const std::int64_t samples = classes * classes;
  metrics.update(at::randint(classes, {samples}, at::kLong),
                 at::randint(classes, {samples}, at::kLong));
  return metrics;
}

}  // namespace

int main() {
  // What is freed goes back to the system, so that peaks count from there.
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  const auto collection = tally::benchmarks::large_collection();
  const auto half_megabyte = confusion(256);
  const auto large = confusion(1000);
  std::printf("%-22s %5s %11s %12s %9s %9s\n", "scenario", "ranks",
              "collectives", "sent (MB)", "peak (MB)", "CPU (ms)");
  for (const int ranks : {8, 64, 1024}) {
    measure("collection", collection, ranks);
    // In the background everything is gathered.
    measure("256 classes, gathered", half_megabyte, ranks, true);
    measure("256 classes", half_megabyte, ranks);
    measure("1000 classes", large, ranks);
  }
  return 0;
}
