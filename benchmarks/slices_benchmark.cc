// The time of SlicedMetric for the accuracy of a million rows in a thousand
// slices: see README.md. compare_slices.py runs it beside the peers.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randint.h>

#include <cstdio>
#include <vector>

#include "benchmarks/measure.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/sliced_metric.h"

int main() {
  constexpr std::int64_t kRows = 1'000'000;
  constexpr std::int64_t kSlices = 1000;
  constexpr std::int64_t kClasses = 10;
  auto random = at::detail::createCPUGenerator(/*seed=*/1);
  const at::Tensor preds = at::randint(kClasses, {kRows}, random, at::kLong);
  const at::Tensor target = at::randint(kClasses, {kRows}, random, at::kLong);
  const at::Tensor keys = at::randint(kSlices, {kRows}, random, at::kLong);
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    times.push_back(tally::benchmarks::microseconds([&] {
      tally::SlicedMetric sliced(tally::MulticlassAccuracy(
          tally::MulticlassAccuracyOptions(kClasses).average(
              tally::Average::kMicro)));
      sliced.update(tally::SliceKeys(keys), preds, target);
      sliced.compute();
    }));
  }
  std::printf("%.1f\n", tally::benchmarks::quantile(times, 0) / 1000);
}
