// What it costs to compute a collection over local ranks: see README.md.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <tally/metrics/metrics.h>
#include <tally/sync/exchange.h>
#include <tally/sync/init.h>
#include <tally/sync/launch.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

constexpr std::int64_t kClasses = 10;
constexpr int kWarmUp = 200;

tally::MetricCollection seven_metrics() {
  // Without the cache: every compute() syncs.
  tally::MetricCollection metrics(
      tally::MetricOptions().compute_with_cache(false));
  metrics.add("accuracy", tally::MulticlassAccuracy(kClasses));
  metrics.add("micro_accuracy",
              tally::MulticlassAccuracy(
                  tally::MulticlassAccuracyOptions(kClasses).average(
                      tally::Average::kMicro)));
  metrics.add("precision", tally::MulticlassPrecision(kClasses));
  metrics.add("recall", tally::MulticlassRecall(kClasses));
  metrics.add("f1", tally::MulticlassF1Score(kClasses));
  metrics.add("confusion", tally::MulticlassConfusionMatrix(kClasses));
  metrics.add("log_loss", tally::MulticlassLogLoss(kClasses));
  return metrics;
}

template <class Function>
double microseconds(const Function& function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now() - start)
      .count();
}

double quantile(std::vector<double> values, double q) {
  const auto place = values.begin() +
                     static_cast<std::ptrdiff_t>(q * double(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

void run(tally::sync::Communicator& ranks, int rounds) {
  tally::MetricCollection metrics = seven_metrics();
  for (int i = 0; i < 10; ++i) {
    metrics.update(at::randn({32, kClasses}).softmax(1),
                   at::randint(kClasses, {32}, at::kLong));
  }
  const std::int64_t bytes = tally::sync::Exchange::kSlotBytes;
  const at::Tensor own = at::zeros({bytes}, at::kByte);
  at::Tensor all = at::empty({bytes * ranks.size()}, at::kByte);
  std::vector<double> gathers;
  std::vector<double> computes;
  std::int64_t collectives = 0;
  for (int round = -kWarmUp; round < rounds; ++round) {
    const double gather = microseconds([&] { ranks.all_gather(own, all); });
    const std::int64_t before = ranks.collectives();
    const double compute = microseconds([&] { metrics.compute(); });
    collectives = ranks.collectives() - before;
    if (round < 0) continue;
    gathers.push_back(gather);
    computes.push_back(compute);
  }
  if (ranks.rank() != 0) return;
  std::printf("%5s %12s %16s %16s %16s %16s %7s\n", "ranks", "collectives",
              "gather p10 (us)", "gather p50 (us)", "compute p10 (us)",
              "compute p50 (us)", "ratio");
  std::printf("%5d %12lld %16.1f %16.1f %16.1f %16.1f %7.2f\n", ranks.size(),
              static_cast<long long>(collectives), quantile(gathers, 0.1),
              quantile(gathers, 0.5), quantile(computes, 0.1),
              quantile(computes, 0.5),
              quantile(computes, 0.5) / quantile(gathers, 0.5));
}

}  // namespace

// sync_benchmark [ranks = 2] [rounds = 2000]
int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 2000;
  if (ranks < 2 || rounds < 1) {
    std::fprintf(stderr, "usage: %s [ranks >= 2] [rounds >= 1]\n", argv[0]);
    return 2;
  }
  if (const auto status = tally::sync::launch_local(ranks, argc, argv)) {
    return *status;
  }
  run(*tally::sync::init_from_env(), rounds);
  return 0;
}
