// Retrieval metrics, from tensors to values: see README.md.

#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randperm.h>
#include <benchmark/benchmark.h>
#include <tally/metrics/collection.h>
#include <tally/metrics/retrieval/retrieval.h>

#include <functional>
#include <string>
#include <utility>

#include "benchmarks/target.h"

namespace {

using namespace tally;

struct Documents {
  at::Tensor preds, target, indexes;
};

Documents documents(std::int64_t queries, std::int64_t each, bool shuffled) {
  const std::int64_t count = queries * each;
  at::Tensor indexes = at::arange(count).floor_divide(each);
  if (shuffled) indexes = indexes.index_select(0, at::randperm(count));
  return {at::rand({count}), at::randint(2, {count}, at::kLong), indexes};
}

MetricCollection family() {
  MetricCollection metrics;
  metrics.add("map", RetrievalMAP());
  metrics.add("map_10", RetrievalMAP(RetrievalMAPOptions().top_k(10)));
  metrics.add("mrr", RetrievalMRR());
  metrics.add("p_10",
              RetrievalPrecision(RetrievalPrecisionOptions().top_k(10)));
  metrics.add("recall_10", RetrievalRecall(RetrievalRecallOptions().top_k(10)));
  metrics.add("hits_10", RetrievalHitRate(RetrievalHitRateOptions().top_k(10)));
  metrics.add("ndcg", RetrievalNormalizedDCG());
  metrics.add("ndcg_10", RetrievalNormalizedDCG(
                             RetrievalNormalizedDCGOptions().top_k(10)));
  metrics.add("r_precision", RetrievalRPrecision());
  return metrics;
}

using Make = std::function<std::function<void()>()>;

void add(const std::string& name, const Make& make) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [make](benchmark::State& state) {
                                 const auto work = make();
                                 for (auto _ : state) work();
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

template <class Metric>
std::function<void()> evaluation(const Documents& given) {
  return [given] {
    Metric metric;
    metric.update(given.preds, given.target, given.indexes);
    benchmark::DoNotOptimize(metric.compute());
  };
}

std::function<void()> family_evaluation(const Documents& given) {
  return [given] {
    MetricCollection metrics = family();
    metrics.update(given.preds, given.target, given.indexes);
    benchmark::DoNotOptimize(metrics.compute());
  };
}

void add_all() {
  add("RetrievalMAP/10000x50",
      [] { return evaluation<RetrievalMAP>(documents(10'000, 50, true)); });
  add("RetrievalMAP/10000x50_in_order",
      [] { return evaluation<RetrievalMAP>(documents(10'000, 50, false)); });
  add("RetrievalMRR/10000x50",
      [] { return evaluation<RetrievalMRR>(documents(10'000, 50, true)); });
  add("RetrievalNormalizedDCG/10000x50", [] {
    return evaluation<RetrievalNormalizedDCG>(documents(10'000, 50, true));
  });
  add("RetrievalMAP/1000x1000",
      [] { return evaluation<RetrievalMAP>(documents(1000, 1000, true)); });
  add("Retrieval(9)/10000x50",
      [] { return family_evaluation(documents(10'000, 50, true)); });
  add("Retrieval(9)/1000x1000",
      [] { return family_evaluation(documents(1000, 1000, true)); });
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
