// What metrics of segmentations of 128^3 places cost: see README.md.

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/sin.h>
#include <benchmark/benchmark.h>
#include <tally/metrics/collection.h>
#include <tally/metrics/segmentation/segmentation.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/target.h"
#include "tally/metrics/segmentation/kernels/bit_grid.h"
#include "tally/metrics/segmentation/kernels/distance_transform.h"

namespace {

using tally::SegmentationFormat;
using tally::Surface;

constexpr std::int64_t kSide = 128;

struct Segmentations {
  at::Tensor preds;
  at::Tensor target;
};

// From `begin` on, along an axis.
at::Tensor axis(double begin, int dim) {
  std::vector<std::int64_t> sizes(3, 1);
  sizes[dim] = kSide;
  return at::arange(kSide, at::kDouble).add(begin).reshape(sizes);
}

at::Tensor ball(double z, double y, double x, double radius) {
  return axis(-z, 0)
      .square()
      .add(axis(-y, 1).square())
      .add(axis(-x, 2).square())
      .le(radius * radius)
      .unsqueeze(0);
}

// A gyroid with a period of 40 places: much surface.
at::Tensor gyroid(double shift) {
  const auto wave = [shift](int dim) { return axis(shift, dim).mul(0.157); };
  return at::sin(wave(0))
      .mul(at::cos(wave(1)))
      .add(at::sin(wave(1)).mul(at::cos(wave(2))))
      .add(at::sin(wave(2)).mul(at::cos(wave(0))))
      .gt(0)
      .unsqueeze(0);
}

Segmentations balls() { return {ball(66, 63, 64, 39), ball(64, 64, 64, 40)}; }
Segmentations gyroids() { return {gyroid(1.5), gyroid(0)}; }

template <class Options>
Options of_volumes(Options options, Surface surface) {
  return options.input_format(SegmentationFormat::kIndex)
      .surface(surface)
      .spacing(std::vector<double>{1, 1, 2});
}

tally::MetricCollection four(Surface surface) {
  using namespace tally;
  const auto hausdorff = of_volumes(HausdorffDistanceOptions(2), surface);
  MetricCollection metrics;
  metrics.add("hd", HausdorffDistance(hausdorff));
  metrics.add("hd95", HausdorffDistance(
                          HausdorffDistanceOptions(hausdorff).percentile(95)));
  metrics.add("assd", AverageSymmetricSurfaceDistance(of_volumes(
                          AverageSymmetricSurfaceDistanceOptions(2), surface)));
  metrics.add("nsd", NormalizedSurfaceDistance(of_volumes(
                         NormalizedSurfaceDistanceOptions(2, 1.0), surface)));
  return metrics;
}

template <class Run>
void add(const std::string& name, const Run& run) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [run](benchmark::State& state) {
                                 for (auto _ : state) run();
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

void add_four(const std::string& name, const Segmentations& inputs,
              Surface surface) {
  add(name, [=] {
    tally::MetricCollection metrics = four(surface);
    metrics.update(inputs.preds, inputs.target);
    auto results = metrics.compute();
    benchmark::DoNotOptimize(results);
  });
}

void add_transform(const Segmentations& inputs) {
  namespace segmentation = tally::internal::segmentation;
  segmentation::BitGrid mask({kSide, kSide, kSide});
  const at::Tensor target = inputs.target.contiguous();
  const auto* const places = target.const_data_ptr<bool>();
  for (std::int64_t i = 0; i < target.numel(); ++i) {
    if (places[i]) {
      mask.row(i / kSide)[i % kSide / 64] |= std::uint64_t{1} << (i % 64);
    }
  }
  const segmentation::BitGrid seeds =
      segmentation::surface_of(mask, segmentation::SurfaceKind::kVoxel, 3);
  const auto out = std::make_shared<std::vector<float>>(target.numel());
  add("transform/128", [=] {
    segmentation::distance_transform(seeds, {1, 1, 2},
                                     segmentation::GridDistance::kEuclidean,
                                     nullptr, out->data());
    benchmark::DoNotOptimize(out->data());
  });
}

template <class M>
void add_overlap(const Segmentations& inputs) {
  add(std::string(M::kName) + "/128", [=] {
    M metric(typename M::Options(2).input_format(SegmentationFormat::kIndex));
    metric.update(inputs.preds, inputs.target);
    auto value = metric.compute();
    benchmark::DoNotOptimize(value);
  });
}

}  // namespace

int main(int argc, char** argv) {
  tally::benchmarks::take_target(&argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_transform(balls());
  add_four("voxels/ball", balls(), Surface::kVoxel);
  add_four("voxels/gyroid", gyroids(), Surface::kVoxel);
  add_four("elements/ball", balls(), Surface::kElement);
  add_four("elements/gyroid", gyroids(), Surface::kElement);
  add_overlap<tally::DiceScore>(balls());
  add_overlap<tally::MeanIoU>(balls());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
