// What regression metrics cost, next to reading their inputs: see README.md.

#include <ATen/core/Tensor.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <benchmark/benchmark.h>
#include <tally/metrics/regression/regression.h>

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/target.h"

namespace {

constexpr std::int64_t kBatch = 32;
constexpr std::int64_t kLarge = 10'000'000;
constexpr std::int64_t kRanked = 1'000'000;
// Metrics that keep every sample start afresh after so many batches.
constexpr std::int64_t kBatchesBetweenResets = 4096;

using Inputs = std::vector<at::Tensor>;

// `make` returns a fresh metric.
template <class Make>
void add_batch(const std::string& name, const Make& make, const at::Tensor& a,
               const at::Tensor& b) {
  benchmark::RegisterBenchmark((name + "/update").c_str(),
                               [=](benchmark::State& state) {
                                 auto metric = make();
                                 std::int64_t batches = 0;
                                 for (auto _ : state) {
                                   metric.update(a, b);
                                   if (++batches % kBatchesBetweenResets == 0) {
                                     metric.reset();
                                   }
                                 }
                               });
  benchmark::RegisterBenchmark((name + "/forward").c_str(),
                               [=](benchmark::State& state) {
                                 auto metric = make();
                                 std::int64_t batches = 0;
                                 for (auto _ : state) {
                                   auto value = metric.forward(a, b);
                                   benchmark::DoNotOptimize(value);
                                   if (++batches % kBatchesBetweenResets == 0)
                                     metric.reset();
                                 }
                               });
}

template <class M>
void add_batch(const at::Tensor& a, const at::Tensor& b,
               const typename M::Options& options = {}) {
  add_batch(
      M::kName, [options] { return M(options); }, a, b);
}

void add_batches() {
  using namespace tally;
  const at::Tensor preds = at::rand({kBatch}).add(0.5);
  const at::Tensor target = at::rand({kBatch}).add(0.5);
  add_batch<MeanAbsoluteError>(preds, target);
  add_batch<MeanSquaredLogError>(preds, target);
  add_batch<MeanAbsolutePercentageError>(preds, target);
  add_batch<SymmetricMeanAbsolutePercentageError>(preds, target);
  add_batch<WeightedMeanAbsolutePercentageError>(preds, target);
  add_batch<LogCoshError>(preds, target);
  add_batch<MinkowskiDistance>(preds, target, 3);
  add_batch<MeanPinballLoss>(preds, target);
  add_batch<TweedieDevianceScore>(preds, target, 1);
  add_batch<MaxError>(preds, target);
  add_batch<MedianAbsoluteError>(preds, target);
  add_batch<R2Score>(preds, target);
  add_batch<ExplainedVariance>(preds, target);
  add_batch<RelativeSquaredError>(preds, target);
  add_batch<NormalizedRootMeanSquaredError>(preds, target);
  add_batch<ConcordanceCorrCoef>(preds, target);
  add_batch<D2TweedieScore>(preds, target);
  add_batch<D2PinballScore>(preds, target);
  add_batch<SpearmanCorrCoef>(preds, target);
  add_batch<KendallRankCorrCoef>(preds, target);
  add_batch<CriticalSuccessIndex>(preds, target, 1);
  const at::Tensor rows = at::rand({kBatch, 10});
  add_batch<CosineSimilarity>(rows, at::rand({kBatch, 10}));
  add_batch<KLDivergence>(rows, at::rand({kBatch, 10}));
  add_batch<JensenShannonDivergence>(rows, at::rand({kBatch, 10}));
  add_batch<ContinuousRankedProbabilityScore>(rows, target);
}

template <class M>
void add_large(const std::string& name, const Inputs& inputs,
               const typename M::Options& options = {}) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=](benchmark::State& state) {
        const M metric(options);
        for (auto _ : state) {
          auto value = metric.evaluate(metric.observe(inputs[0], inputs[1]));
          benchmark::DoNotOptimize(value);
        }
      })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

void add_read(const std::string& name, const Inputs& inputs) {
  benchmark::RegisterBenchmark(("read/" + name).c_str(),
                               [=](benchmark::State& state) {
                                 for (auto _ : state) {
                                   for (const at::Tensor& input : inputs) {
                                     auto sum = input.sum();
                                     benchmark::DoNotOptimize(sum);
                                   }
                                 }
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

void add_large() {
  using namespace tally;
  const at::Tensor preds = at::randn({kLarge});
  const Inputs floats = {preds, preds.add(at::randn({kLarge}))};
  const Inputs integers = {at::randint(1000, {kLarge}, at::kLong),
                           at::randint(1000, {kLarge}, at::kLong)};
  add_read("1e7", floats);
  add_large<MeanSquaredError>("MeanSquaredError/1e7", floats);
  add_large<MeanAbsoluteError>("MeanAbsoluteError/1e7", floats);
  add_large<PearsonCorrCoef>("PearsonCorrCoef/1e7", floats);
  add_large<R2Score>("R2Score/1e7", floats);
  add_read("1e7_int64", integers);
  add_large<MeanSquaredError>("MeanSquaredError/1e7_int64", integers);
  add_large<PearsonCorrCoef>("PearsonCorrCoef/1e7_int64", integers);
  const auto pair = [](std::int64_t count) {
    const at::Tensor x = at::randn({count});
    return Inputs{x, x.add(at::randn({count}))};
  };
  const Inputs many = pair(kRanked);
  const Inputs tied = {many[0].mul(10).round(), many[1].mul(10).round()};
  add_large<SpearmanCorrCoef>("SpearmanCorrCoef/1e6", many);
  add_large<SpearmanCorrCoef>("SpearmanCorrCoef/1e6_ties", tied);
  add_large<KendallRankCorrCoef>("KendallRankCorrCoef/1e6", many);
  add_large<KendallRankCorrCoef>("KendallRankCorrCoef/1e6_ties", tied);
  add_large<KendallRankCorrCoef>("KendallRankCorrCoef/2000", pair(2000));
}

}  // namespace

int main(int argc, char** argv) {
  tally::benchmarks::take_target(&argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_batches();
  add_large();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
