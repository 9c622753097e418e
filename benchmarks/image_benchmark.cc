// What metrics of 16 images of 3 x 512 x 512 pixels cost: see README.md.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <benchmark/benchmark.h>
#include <tally/metrics/image/image.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "benchmarks/target.h"

namespace {

// The same numbers as in compare_image.py.
at::Tensor noise(std::uint64_t seed) {
  at::Tensor images = at::empty({16, 3, 512, 512}, at::kFloat);
  float* const values = images.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < images.numel(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values[i] = static_cast<float>(seed >> 40) * 0x1p-24F;
  }
  return images;
}

// Of this process, in MB: "VmRSS" now, "VmHWM" at most since the last reset.
double memory(const std::string& kind) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == kind + ":" && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

template <class M>
void add(const std::string& name, const typename M::Options& options,
         bool with_gradient) {
  const auto run = [=](benchmark::State& state) {
    const at::Tensor target = noise(1);
    const at::Tensor preds = target.mul(0.75).add(noise(2), 0.25);
    preds.set_requires_grad(with_gradient);
    reset_peak();
    const double before = memory("VmRSS");
    at::Tensor value;
    for (auto _ : state) {
      M metric(options);
      value = metric.forward(preds, target);
      if (with_gradient) {
        value.backward();
        preds.mutable_grad().reset();
      }
      benchmark::DoNotOptimize(value);
    }
    state.counters["peak_mb"] = memory("VmHWM") - before;
    state.counters["value"] = value.detach().item<double>();
  };
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

template <class M>
void add_both(const std::string& name, const typename M::Options& options) {
  add<M>(name, options, false);
  add<M>(name + "_gradient", options, true);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tally;
  benchmarks::take_target(&argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_both<StructuralSimilarityIndexMeasure>("SSIM", 1.0);
  add_both<MultiScaleStructuralSimilarityIndexMeasure>("MS-SSIM", 1.0);
  add_both<PeakSignalNoiseRatio>("PSNR", 1.0);
  add_both<UniversalImageQualityIndex>("UQI", {});
  add_both<VisualInformationFidelity>("VIF", 1.0);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
