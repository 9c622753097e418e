// What metrics of 4 s of sound at 16 kHz cost: see README.md.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <benchmark/benchmark.h>
#include <tally/metrics/audio/audio.h>

#include <cstdint>
#include <string>
#include <utility>

#include "benchmarks/target.h"

namespace {

constexpr std::int64_t kSamples = 64000;
constexpr std::int64_t kRate = 16000;

// The same numbers as in compare_audio.py.
at::Tensor noise(std::int64_t rows, std::uint64_t seed) {
  at::Tensor signals = at::empty({rows, kSamples}, at::kDouble);
  double* const values = signals.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < signals.numel(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values[i] = static_cast<double>(seed >> 33) * 0x1p-30 - 1;
  }
  return signals;
}

template <class M>
void add(const std::string& name, std::int64_t rows,
         const typename M::Options& options = typename M::Options(),
         bool with_gradient = false) {
  const auto run = [=](benchmark::State& state) {
    const at::Tensor target = noise(rows, 1);
    const at::Tensor preds =
        target.add(noise(rows, 2).mul(0.1)).set_requires_grad(with_gradient);
    for (auto _ : state) {
      M metric(options);
      at::Tensor value = metric.forward(preds, target).value;
      if (with_gradient) {
        value.backward();
        preds.mutable_grad().reset();
      }
      benchmark::DoNotOptimize(value);
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tally;
  benchmarks::take_target(&argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add<SignalDistortionRatio>("SDR/100", 100);
  add<SignalDistortionRatio>("SDR_gradient/100", 100, {}, true);
  add<ScaleInvariantSignalDistortionRatio>("SI-SDR/100", 100);
  const ShortTimeObjectiveIntelligibilityOptions stoi(kRate);
  add<ShortTimeObjectiveIntelligibility>("STOI/10", 10, stoi);
  add<ShortTimeObjectiveIntelligibility>(
      "ESTOI/10", 10,
      ShortTimeObjectiveIntelligibilityOptions(stoi).extended(true));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
