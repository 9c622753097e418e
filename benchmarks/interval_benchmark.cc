// The time of intervals: see README.md. compare_intervals.py runs it beside
// scikit-learn.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>

#include <cstdio>
#include <ctime>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/intervals/intervals.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/metrics/regression/spearman_corr_coef.h"

namespace {

using tally::IntervalMethod;
using tally::IntervalMetric;
using tally::IntervalOptions;

template <class Work>
double cpu_seconds(const Work& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

template <class M>
void by_ids(const char* name, IntervalMethod method, const at::Tensor& preds,
            const at::Tensor& target) {
  const tally::SampleIds ids(at::arange(preds.size(0)));
  IntervalMetric metric(M(), IntervalOptions().method(method));
  const double seconds =
      cpu_seconds([&] { metric.update(ids, preds, target); });
  std::printf("%s %.3f\n", name,
              seconds * 1e6 / static_cast<double>(preds.size(0)));
}

/// Microseconds for a batch of 1000 rows, and for one of 32, and milliseconds
/// of a compute, by the method of auto.
template <class M>
void automatic(const char* name, std::int64_t rows, const at::Tensor& preds,
               const at::Tensor& target) {
  for (const std::int64_t batch : {32, 1000, 100'000}) {
    IntervalMetric metric{M()};
    const std::int64_t batches = rows / batch;
    const double seconds = cpu_seconds([&] {
      for (std::int64_t i = 0; i < batches; ++i) {
        metric.update(preds.narrow(0, i * batch, batch),
                      target.narrow(0, i * batch, batch));
      }
    });
    std::printf("%s_update_%ld %.3f us per row\n", name,
                static_cast<long>(batch),
                seconds * 1e6 / static_cast<double>(batches * batch));
    std::printf("%s_compute %.2f ms\n", name,
                1e3 * cpu_seconds([&] { metric.compute(); }));
  }
}

}  // namespace

int main() {
  constexpr std::int64_t kRows = 20'000;
  constexpr std::int64_t kManyRows = 10'000'000;
  auto random = at::detail::createCPUGenerator(/*seed=*/1);
  const at::Tensor scores = at::rand({kRows}, random);
  const at::Tensor labels = at::rand({kRows}, random).lt(0.5);
  // Microseconds per row for 1000 replicates.
  by_ids<tally::BinaryAccuracy>("accuracy_poisson", IntervalMethod::kPoisson,
                                scores, labels);
  by_ids<tally::BinaryAccuracy>("accuracy_double_or_nothing",
                                IntervalMethod::kDoubleOrNothing, scores,
                                labels);
  by_ids<tally::MeanSquaredError>("mse_poisson", IntervalMethod::kPoisson,
                                  scores, scores.neg());
  constexpr std::int64_t kAutomaticRows = 1'000'000;
  const at::Tensor x = at::rand({kAutomaticRows}, random);
  const at::Tensor y = at::rand({kAutomaticRows}, random).add(x);
  automatic<tally::MeanSquaredError>("mse", kAutomaticRows, x, y);
  automatic<tally::PearsonCorrCoef>("pearson", kAutomaticRows, x, y);
  automatic<tally::BinaryAveragePrecision>("precision", kAutomaticRows, x,
                                           y.gt(1).to(at::kLong));
  automatic<tally::SpearmanCorrCoef>("spearman", 100'000, x, y);
  for (const std::int64_t rows : {30, 200}) {
    IntervalMetric few{tally::MeanSquaredError()};
    few.update(x.narrow(0, 0, rows), y.narrow(0, 0, rows));
    std::printf("mse_of_%ld_rows %.3f ms\n", static_cast<long>(rows),
                1e3 * cpu_seconds([&] { few.compute(); }));
  }
  // Seconds for all rows, which are sorted once.
  constexpr std::int64_t kSortedRows = 1'000'000;
  const at::Tensor areas = at::rand({kSortedRows}, random);
  IntervalMetric auroc(tally::BinaryAUROC(),
                       IntervalOptions().method(IntervalMethod::kPoisson));
  std::printf("auroc_poisson %.3f\n", cpu_seconds([&] {
                auroc.update(areas, at::rand({kSortedRows}, random).lt(0.5));
                auroc.compute();
              }));
  // Seconds for counts: accumulating, and 1000 replicates.
  const at::Tensor many = at::rand({kManyRows}, random);
  const at::Tensor target = at::rand({kManyRows}, random).lt(0.5);
  IntervalMetric counts(
      tally::BinaryAccuracy(),
      IntervalOptions().method(IntervalMethod::kPoissonCells));
  std::printf("counting %.4f\n",
              cpu_seconds([&] { counts.update(many, target); }));
  counts.compute();
  std::printf("cells %.4f\n", cpu_seconds([&] { counts.compute(); }));
}
