// What clustering and nominal metrics cost: see README.md.

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <benchmark/benchmark.h>
#include <tally/metrics/clustering/clustering.h>
#include <tally/metrics/nominal/nominal.h>

#include <cstdint>
#include <string>
#include <utility>

#include "benchmarks/target.h"

namespace {

using Inputs = std::pair<at::Tensor, at::Tensor>;

// Half of the samples as they are, the others anywhere.
Inputs labels(std::int64_t count, std::int64_t classes) {
  const at::Tensor target = at::randint(classes, {count}, at::kLong);
  const at::Tensor other = at::randint(classes, {count}, at::kLong);
  const at::Tensor follows = at::arange(count).remainder(2).eq(0);
  return {target.where(follows, other), target};
}

Inputs points(std::int64_t count, std::int64_t dims, std::int64_t clusters) {
  const at::Tensor own = at::randint(clusters, {count}, at::kLong);
  const at::Tensor centers = at::randn({clusters, dims});
  return {centers.index_select(0, own).add(at::randn({count, dims})), own};
}

template <class M>
void add(const std::string& name, const Inputs& inputs,
         const typename M::Options& options = {}) {
  benchmark::RegisterBenchmark((std::string(M::kName) + "/" + name).c_str(),
                               [=](benchmark::State& state) {
                                 const M metric(options);
                                 for (auto _ : state) {
                                   auto value = metric.evaluate(metric.observe(
                                       inputs.first, inputs.second));
                                   benchmark::DoNotOptimize(value);
                                 }
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

template <class M>
void add_batch(const Inputs& inputs) {
  benchmark::RegisterBenchmark((std::string(M::kName) + "/update").c_str(),
                               [=](benchmark::State& state) {
                                 M metric;
                                 for (auto _ : state) {
                                   metric.update(inputs.first, inputs.second);
                                 }
                               });
}

void add_read(const std::string& name, const Inputs& inputs) {
  benchmark::RegisterBenchmark(("read/" + name).c_str(),
                               [=](benchmark::State& state) {
                                 for (auto _ : state) {
                                   auto a = inputs.first.sum();
                                   auto b = inputs.second.sum();
                                   benchmark::DoNotOptimize(a);
                                   benchmark::DoNotOptimize(b);
                                 }
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

void add_all() {
  using namespace tally;
  const Inputs batch = labels(32, 10);
  add_batch<AdjustedRandScore>(batch);
  add_batch<CramersV>(batch);
  add_batch<CalinskiHarabaszScore>(points(32, 32, 10));
  const Inputs small = labels(100'000, 300);
  add<AdjustedMutualInfoScore>("1e5", small);
  const Inputs large = labels(1'000'000, 1000);
  add_read("1e6", large);
  add<MutualInfoScore>("1e6", large);
  add<NormalizedMutualInfoScore>("1e6", large);
  add<AdjustedMutualInfoScore>("1e6", large);
  add<AdjustedRandScore>("1e6", large);
  add<FowlkesMallowsIndex>("1e6", large);
  add<VMeasureScore>("1e6", large);
  add<ClusterAccuracy>("1e6", large);
  add<CramersV>("1e6", labels(1'000'000, 10));
  add<TheilsU>("1e6", labels(1'000'000, 10));
  const Inputs data = points(100'000, 32, 50);
  add_read("1e5", data);
  add<CalinskiHarabaszScore>("1e5", data);
  add<DaviesBouldinScore>("1e5", data);
  add<DaviesBouldinScore>("1e5_q_2", data, DaviesBouldinScoreOptions().q(2));
  add<DunnIndex>("1e5", data);
  const Inputs few = points(8000, 32, 10);
  add<SilhouetteScore>("8000", few);
  add<SilhouetteScore>("8000_squared", few,
                       SilhouetteDistance::kSquaredEuclidean);
  add<DunnIndex>("8000_classical", few,
                 DunnIndexOptions().method(DunnMethod::kClassical));
}

}  // namespace

int main(int argc, char** argv) {
  tally::benchmarks::take_target(&argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
