// The time of SlicedMetric for the accuracy of a million rows in a thousand
// slices: see README.md. compare_slices.py runs it beside the peers. With the
// argument "updates": the time of an update by 32 rows of 32 slices, beside
// none and beside 10 000 others. With "keys": that of the accuracy of 5 million
// rows by 40 integer keys, beside that without keys.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/measure.h"
#include "benchmarks/process.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/slices/sliced_metric.h"

namespace {

using tally::MulticlassAccuracy;
using tally::MulticlassAccuracyOptions;
using tally::SlicedMetric;
using tally::SliceKeys;

constexpr std::int64_t kClasses = 10;

MulticlassAccuracy accuracy() {
  return MulticlassAccuracy(
      MulticlassAccuracyOptions(kClasses).average(tally::Average::kMicro));
}

/// Microseconds of an update, the best of many.
double update_among(std::int64_t others) {
  constexpr std::int64_t kRows = 32;
  SlicedMetric sliced(accuracy(),
                      tally::SlicedMetricOptions().max_slices(others + kRows));
  const auto update = [&](std::int64_t first, std::int64_t rows) {
    const at::Tensor keys = at::arange(first, first + rows, at::kLong);
    sliced.update(SliceKeys(keys), keys.remainder(kClasses),
                  keys.mul(7).remainder(kClasses));
  };
  if (others > 0) update(kRows, others);
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) {
    times.push_back(tally::benchmarks::microseconds([&] { update(0, kRows); }));
  }
  return tally::benchmarks::quantile(times, 0.1);
}

int print_updates() {
  const double alone = update_among(0);
  const double among = update_among(10'000);
  std::printf("%.1f us alone, %.1f us among 10 000 others: %.2f\n", alone,
              among, among / alone);
  return 0;
}

/// Milliseconds of `call` in CPU time, the median of some rounds in turn with
/// those of `other`.
template <class Call, class Other>
std::pair<double, double> in_turn(const Call& call, const Other& other) {
  std::vector<double> times, others;
  for (int i = 0; i < 15; ++i) {
    const double start = tally::benchmarks::cpu_ms();
    call();
    const double middle = tally::benchmarks::cpu_ms();
    other();
    times.push_back(middle - start);
    others.push_back(tally::benchmarks::cpu_ms() - middle);
  }
  return {tally::benchmarks::quantile(times, 0.5),
          tally::benchmarks::quantile(others, 0.5)};
}

int print_keys() {
  constexpr std::int64_t kRows = 5'000'000;
  auto random = at::detail::createCPUGenerator(/*seed=*/1);
  const at::Tensor keys = at::randint(40, {kRows}, random, at::kLong);
  const auto print = [&](const char* what, const auto& make,
                         const at::Tensor& preds, const at::Tensor& target) {
    const auto [plain, sliced] = in_turn(
        [&] {
          auto own = make();
          own.update(preds, target);
          own.compute();
        },
        [&] {
          SlicedMetric own(make());
          own.update(SliceKeys(keys), preds, target);
          own.compute();
        });
    std::printf("%s: %.1f ms, by 40 keys %.1f ms, %.1f times\n", what, plain,
                sliced, sliced / plain);
  };
  print(
      "scores of two classes", [] { return tally::BinaryAccuracy(); },
      at::rand({kRows}, random), at::randint(2, {kRows}, random, at::kLong));
  print("classes", accuracy, at::randint(kClasses, {kRows}, random, at::kLong),
        at::randint(kClasses, {kRows}, random, at::kLong));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "updates") {
    return print_updates();
  }
  if (count > 1 && std::string_view(arguments[1]) == "keys") {
    return print_keys();
  }
  constexpr std::int64_t kRows = 1'000'000;
  constexpr std::int64_t kSlices = 1000;
  auto random = at::detail::createCPUGenerator(/*seed=*/1);
  const at::Tensor preds = at::randint(kClasses, {kRows}, random, at::kLong);
  const at::Tensor target = at::randint(kClasses, {kRows}, random, at::kLong);
  const at::Tensor keys = at::randint(kSlices, {kRows}, random, at::kLong);
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    times.push_back(tally::benchmarks::microseconds([&] {
      SlicedMetric sliced(accuracy());
      sliced.update(SliceKeys(keys), preds, target);
      sliced.compute();
    }));
  }
  std::printf("%.1f\n", tally::benchmarks::quantile(times, 0) / 1000);
}
