// What it costs to compute metrics over local ranks: see README.md.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <tally/metrics/metrics.h>
#include <tally/sync/exchange/exchange.h>
#include <tally/sync/init.h>
#include <tally/sync/launch.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "benchmarks/measure.h"
#include "benchmarks/scenarios.h"

namespace {

using tally::benchmarks::microseconds;
using tally::benchmarks::quantile;
using tally::sync::Communicator;

struct Report {
  bool json = false;
  bool silent = false;

  void header() const {
    if (silent || json) return;
    std::printf("%-10s %5s %11s %9s %10s %10s %11s %11s %6s\n", "scenario",
                "ranks", "collectives", "bytes", "gather p10", "gather p50",
                "compute p10", "compute p50", "ratio");
  }
  void row(const char* scenario, int ranks, std::int64_t collectives,
           std::int64_t bytes, const std::vector<double>& gathers,
           const std::vector<double>& computes) const {
    if (silent) return;
    const double g10 = quantile(gathers, 0.1);
    const double g50 = quantile(gathers, 0.5);
    const double c10 = quantile(computes, 0.1);
    const double c50 = quantile(computes, 0.5);
    if (json) {
      std::printf(
          "{\"scenario\": \"%s\", \"ranks\": %d, \"collectives\": %lld, "
          "\"bytes\": %lld, \"gather_p10_us\": %.1f, \"gather_p50_us\": %.1f, "
          "\"p10_us\": %.1f, \"p50_us\": %.1f}\n",
          scenario, ranks, static_cast<long long>(collectives),
          static_cast<long long>(bytes), g10, g50, c10, c50);
    } else {
      std::printf("%-10s %5d %11lld %9lld %10.1f %10.1f %11.1f %11.1f %6.2f\n",
                  scenario, ranks, static_cast<long long>(collectives),
                  static_cast<long long>(bytes), g10, g50, c10, c50, c50 / g50);
    }
    std::fflush(stdout);
  }
};

// Each round: one bare gather of as many bytes, then compute().
template <class Metric>
void measure(const char* scenario, Metric metric, Communicator& ranks,
             int rounds, const Report& report) {
  const auto state = static_cast<std::int64_t>(metric.serialize().size());
  const std::int64_t bytes = std::max(
      state, tally::sync::internal::Exchange::slot_bytes(ranks.size()));
  const at::Tensor own = at::zeros({bytes}, at::kByte);
  at::Tensor all = at::empty({bytes * ranks.size()}, at::kByte);
  std::vector<double> gathers;
  std::vector<double> computes;
  std::int64_t collectives = 0;
  for (int round = -rounds / 10; round < rounds; ++round) {
    const double gather = microseconds([&] { ranks.all_gather(own, all); });
    const std::int64_t before = ranks.collectives();
    const double compute = microseconds([&] { metric.compute(); });
    collectives = ranks.collectives() - before;
    if (round < 0) continue;
    gathers.push_back(gather);
    computes.push_back(compute);
  }
  report.row(scenario, ranks.size(), collectives, bytes, gathers, computes);
}

// Which part of the time of a sync disappears behind `steps`.
template <class Steps>
void measure_overlap(const char* what, int rounds, const Report& report,
                     const Steps& steps) {
  tally::CatMetric metric = tally::benchmarks::rows(1, 1'000'000);
  std::vector<double> syncs, works, both;
  for (int round = -rounds / 10; round < rounds; ++round) {
    const double sync = microseconds([&] { metric.sync_async().wait(); });
    const double work = microseconds(steps);
    const double overlapped = microseconds([&] {
      auto pending = metric.sync_async();
      steps();
      pending.wait();
    });
    if (round < 0) continue;
    syncs.push_back(sync);
    works.push_back(work);
    both.push_back(overlapped);
  }
  if (report.silent || report.json) return;
  const double sync = quantile(syncs, 0.5);
  const double work = quantile(works, 0.5);
  const double overlapped = quantile(both, 0.5);
  std::printf(
      "overlap with %s: sync %.0f us, %s %.0f us, together %.0f us: %.0f%% of "
      "the sync hidden\n",
      what, sync, what, work, overlapped,
      100 * (sync + work - overlapped) / sync);
}

// Steps that compute and reduce a small tensor, as those of training do: here,
// or elsewhere, so that this process waits.
void measure_overlaps(Communicator& ranks, int rounds, const Report& report) {
  constexpr int kSteps = 4;
  const at::Tensor matrix = at::ones({384, 384});
  at::Tensor product = at::empty({384, 384});
  at::Tensor gradient = at::zeros({16});
  measure_overlap("steps", rounds, report, [&] {
    for (int i = 0; i < kSteps; ++i) {
      ranks.all_reduce(gradient, tally::sync::ReduceOp::kSum);
      at::mm_out(product, matrix, matrix);
    }
  });
  measure_overlap("waits", rounds, report, [&] {
    for (int i = 0; i < kSteps; ++i) {
      ranks.all_reduce(gradient, tally::sync::ReduceOp::kSum);
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
  });
}

void run(Communicator& ranks, int rounds, Report report) {
  report.silent = ranks.rank() != 0;
  report.header();
  namespace b = tally::benchmarks;
  const int few = std::max(rounds / 20, 10);
  measure("small", b::small_collection(), ranks, rounds, report);
  measure("collection", b::large_collection(), ranks, rounds, report);
  measure("rows", b::rows(1, 1'000'000), ranks, few, report);
  measure("batches", b::rows(100, 32), ranks, rounds, report);
  if (!report.silent && !report.json) std::printf("\n");
  measure_overlaps(ranks, few, report);
}

}  // namespace

// sync_benchmark [ranks = 2] [rounds = 1000] [--json]
int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1000;
  Report report;
  report.json = argc > 3 && std::string_view(argv[3]) == "--json";
  if (ranks < 2 || rounds < 10) {
    std::fprintf(stderr, "usage: %s [ranks >= 2] [rounds >= 10] [--json]\n",
                 argv[0]);
    return 2;
  }
  if (const auto status = tally::sync::launch_local(ranks, argc, argv)) {
    return *status;
  }
  run(*tally::sync::init_from_env(), rounds, report);
  return 0;
}
