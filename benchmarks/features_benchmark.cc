// What distances of features cost: see README.md.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <benchmark/benchmark.h>
#include <tally/metrics/features/features.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "benchmarks/target.h"

namespace {

// The same numbers as in compare_features.py.
at::Tensor noise(std::int64_t rows, std::int64_t dims, std::uint64_t seed) {
  at::Tensor features = at::empty({rows, dims}, at::kFloat);
  float* const values = features.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < features.numel(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values[i] =
        static_cast<float>(static_cast<double>(seed >> 33) * 0x1p-30 - 1);
  }
  return features;
}

void add(const std::string& name, const std::function<tally::Results()>& work) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) {
                                 tally::Results value = work();  // and inputs
                                 for (auto _ : state) {
                                   value = work();
                                   benchmark::DoNotOptimize(value);
                                 }
                                 if (value.empty()) return;
                                 state.counters["value"] =
                                     value.begin()->second.item<double>();
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

// Of the features that it has.
template <class M>
void add_value(const std::string& name, std::int64_t rows, std::int64_t dims,
               const typename M::Options& options = typename M::Options()) {
  add(name, [=, metric = std::shared_ptr<M>()]() mutable {
    if (!metric) {
      metric = std::make_shared<M>(
          options, tally::MetricOptions().compute_with_cache(false));
      const at::Tensor generated = noise(rows, dims, 2).mul(1.1).add(0.05);
      if constexpr (std::is_same_v<M, tally::InceptionScore>) {
        metric->update(generated.mul(5));
      } else {
        metric->update(noise(rows, dims, 1), true);
        metric->update(generated, false);
      }
    }
    return metric->compute_results();
  });
}

// The statistics of real features, in batches of 64.
void add_update(const std::string& name, std::int64_t rows, std::int64_t dims) {
  add(name, [=, real = at::Tensor()]() mutable {
    if (!real.defined()) real = noise(rows, dims, 1);
    tally::FrechetInceptionDistance metric;
    for (const at::Tensor& batch : real.split(64)) metric.update(batch, true);
    return tally::Results();
  });
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tally;
  benchmarks::take_target(&argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_value<FrechetInceptionDistance>("FID/3000x1024", 3000, 1024);
  add_update("FID_update/4096x1024", 4096, 1024);
  add_value<KernelInceptionDistance>(
      "KID/20x1000x512", 2000, 512,
      KernelInceptionDistanceOptions().subsets(20));
  add_value<InceptionScore>("IS/5000x1000", 5000, 1000);
  add_value<ImprovedPrecisionRecall>("PR/3000x512", 3000, 512);
  add_value<DensityCoverage>("DC/3000x512", 3000, 512);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
