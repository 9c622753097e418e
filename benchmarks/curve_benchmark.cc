// The metrics on curves over many samples, and what a batch of 32 costs. "read"
// sums the inputs once, which is as fast as they can be looked at; "gain" is
// what more threads than one gain, beside what reading and copying gain.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <benchmark/benchmark.h>
#include <tally/metrics/classification/auroc.h>
#include <tally/metrics/classification/average_precision.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "benchmarks/gain.h"
#include "benchmarks/target.h"

namespace {

using tally::Thresholds;
using tally::benchmarks::compare_threads;

constexpr std::int64_t kSamples = 5'000'000;
constexpr std::int64_t kRows = 10'000;
constexpr std::int64_t kClasses = 100;

template <class T>
std::int64_t sum_of(const at::Tensor& tensor) {
  const auto* const bits = static_cast<const T*>(tensor.const_data_ptr());
  const std::int64_t count = tensor.nbytes() / sizeof(T);
  return at::parallel_reduce(
      0, count, 1 << 16, std::int64_t{0},
      [&](std::int64_t begin, std::int64_t end, std::int64_t sum) {
        for (std::int64_t i = begin; i < end; ++i) sum += bits[i];
        return sum;
      },
      [](std::int64_t a, std::int64_t b) { return a + b; });
}

void read(const at::Tensor& preds, const at::Tensor& target) {
  benchmark::DoNotOptimize(sum_of<std::int32_t>(preds) +
                           sum_of<std::int64_t>(target));
}

// Into new memory, as an update keeps them.
void copy(const at::Tensor& preds) {
  const at::Tensor to = at::empty_like(preds);
  auto* const bytes = static_cast<char*>(to.mutable_data_ptr());
  const auto* const from = static_cast<const char*>(preds.const_data_ptr());
  at::parallel_for(0, static_cast<std::int64_t>(preds.nbytes()), 1 << 18,
                   [&](std::int64_t begin, std::int64_t end) {
                     std::memcpy(bytes + begin, from + begin, end - begin);
                   });
}

void add_read(const std::string& name, const at::Tensor& preds,
              const at::Tensor& target) {
  benchmark::RegisterBenchmark(("read/" + name).c_str(),
                               [=](benchmark::State& state) {
                                 for (auto _ : state) read(preds, target);
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

template <class M>
void add(const std::string& name, const typename M::Options& options,
         const at::Tensor& preds, const at::Tensor& target,
         const at::Tensor& weight = {}) {
  const std::string full_name = std::string(M::kName) + "/" + name;
  const auto evaluate = [=] {
    M metric(options);
    metric.update(preds, target, weight);
    benchmark::DoNotOptimize(metric.compute());
  };
  benchmark::RegisterBenchmark(full_name.c_str(),
                               [=](benchmark::State& state) {
                                 for (auto _ : state) evaluate();
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
  constexpr int kRounds = 20;
  benchmark::RegisterBenchmark(("gain/" + full_name).c_str(),
                               [=](benchmark::State& state) {
                                 compare_threads(
                                     state, evaluate,
                                     {{"reading", [=] { read(preds, target); }},
                                      {"copying", [=] { copy(preds); }}});
                               })
      ->Iterations(kRounds);
}

void add_binary() {
  const at::Tensor target = at::randint(0, 2, {kSamples}, at::kLong);
  const at::Tensor preds =
      at::randn({kSamples}).add_(target).sub_(0.5).sigmoid_();
  const at::Tensor few = preds.mul(1000).round_().div_(1000);
  const at::Tensor equal = at::full_like(preds, 0.5);
  const at::Tensor sorted = std::get<0>(preds.sort());
  const at::Tensor weight = at::rand({kSamples}, at::kDouble);
  add_read("binary", preds, target);
  tally::BinaryAUROCOptions exact;
  add<tally::BinaryAUROC>("scores", exact, preds, target);
  add<tally::BinaryAUROC>(
      "logits", tally::BinaryAUROCOptions().input(tally::ScoreKind::kLogits),
      preds.logit().mul_(10), target);
  add<tally::BinaryAUROC>("few_scores", exact, few, target);
  add<tally::BinaryAUROC>("equal_scores", exact, equal, target);
  add<tally::BinaryAUROC>("sorted_scores", exact, sorted, target);
  add<tally::BinaryAUROC>("sorted_few_scores", exact,
                          sorted.mul(1000).round_().div_(1000), target);
  add<tally::BinaryAUROC>("falling_scores", exact, sorted.flip(0).contiguous(),
                          target);
  add<tally::BinaryAUROC>("few_positives", exact, preds,
                          at::rand({kSamples}).lt(0.01).to(at::kLong));
  add<tally::BinaryAUROC>("weighted_scores", exact, preds, target, weight);
  add<tally::BinaryAveragePrecision>("scores", {}, preds, target);
  add<tally::BinaryAveragePrecision>("few_scores", {}, few, target);
  add<tally::BinaryAveragePrecision>("equal_scores", {}, equal, target);
  add<tally::BinaryAveragePrecision>("sorted_scores", {}, sorted, target);
  add<tally::BinaryAUROC>("200_thresholds", exact.thresholds(200), preds,
                          target);
  add<tally::BinaryAUROC>("weighted_200_thresholds", exact, preds, target,
                          weight);
  add<tally::BinaryAUROC>("200_logit_thresholds",
                          exact.input(tally::ScoreKind::kLogits), preds.logit(),
                          target);
  std::vector<double> edges;
  for (int i = 0; i < 200; ++i) edges.push_back(i * i / 40000.0);
  add<tally::BinaryAUROC>(
      "uneven_thresholds",
      tally::BinaryAUROCOptions().thresholds(Thresholds(edges)), preds, target);
}

void add_multiclass() {
  const at::Tensor target = at::randint(0, kClasses, {kRows}, at::kLong);
  const at::Tensor preds = at::randn({kRows, kClasses}).softmax(1);
  const tally::MulticlassAUROCOptions exact(kClasses);
  add_read("multiclass", preds, target);
  add<tally::MulticlassAUROC>("scores", exact, preds, target);
  add<tally::MulticlassAveragePrecision>("scores", kClasses, preds, target);
  add<tally::MulticlassAUROC>(
      "200_thresholds", tally::MulticlassAUROCOptions(kClasses).thresholds(200),
      preds, target);
}

// A batch of 32 into what was accumulated before.
void add_small() {
  for (const std::int64_t classes : {10, 100, 1000}) {
    benchmark::RegisterBenchmark(
        ("update/MulticlassAUROC/" + std::to_string(classes) + "_classes")
            .c_str(),
        [=](benchmark::State& state) {
          const at::Tensor preds = at::randn({32, classes}).softmax(1);
          const at::Tensor target = at::randint(0, classes, {32}, at::kLong);
          tally::MulticlassAUROC metric(
              tally::MulticlassAUROCOptions(classes).thresholds(100));
          for (auto _ : state) metric.update(preds, target);
        });
    benchmark::RegisterBenchmark(
        ("compute/MulticlassAUROC/" + std::to_string(classes) + "_classes")
            .c_str(),
        [=](benchmark::State& state) {
          const at::Tensor preds = at::randn({1000, classes}).softmax(1);
          const at::Tensor target = at::randint(0, classes, {1000}, at::kLong);
          tally::MulticlassAUROC metric(
              tally::MulticlassAUROCOptions(classes).thresholds(100),
              tally::MetricOptions().compute_with_cache(false));
          metric.update(preds, target);
          for (auto _ : state) benchmark::DoNotOptimize(metric.compute());
        });
  }
  benchmark::RegisterBenchmark("update/BinaryAUROC", [](auto& state) {
    const at::Tensor preds = at::rand({32});
    const at::Tensor target = at::randint(0, 2, {32}, at::kLong);
    tally::BinaryAUROC metric;
    std::int64_t batches = 0;
    for (auto _ : state) {
      metric.update(preds, target);
      if (++batches % 4096 == 0) metric.reset();
    }
  });
  benchmark::RegisterBenchmark(
      "update/BinaryAUROC/100_thresholds", [](auto& state) {
        const at::Tensor preds = at::rand({32});
        const at::Tensor target = at::randint(0, 2, {32}, at::kLong);
        tally::BinaryAUROC metric(tally::BinaryAUROCOptions().thresholds(100));
        for (auto _ : state) metric.update(preds, target);
      });
}

}  // namespace

int main(int argc, char** argv) {
  tally::benchmarks::take_target(&argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_small();
  add_binary();
  add_multiclass();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
