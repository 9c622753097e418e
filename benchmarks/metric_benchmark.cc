// What one batch of 32 samples costs on one thread: see README.md.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <benchmark/benchmark.h>
#include <tally/metrics/metrics.h>

#include <cstdint>
#include <string>

#include "benchmarks/target.h"

namespace {

constexpr std::int64_t kBatch = 32;
constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kHistory = 5000;
// Metrics that keep every sample start afresh after so many batches.
constexpr std::int64_t kBatchesBetweenResets = 4096;

template <class M, class... Inputs>
void update(benchmark::State& state, M metric, const Inputs&... inputs) {
  std::int64_t batches = 0;
  for (auto _ : state) {
    metric.update(inputs...);
    if (++batches % kBatchesBetweenResets == 0) metric.reset();
  }
}

template <class M, class... Inputs>
void forward(benchmark::State& state, M metric, std::int64_t history,
             const Inputs&... inputs) {
  for (std::int64_t i = 0; i < history; ++i) metric.update(inputs...);
  std::int64_t batches = 0;
  for (auto _ : state) {
    auto value = metric.forward(inputs...);
    benchmark::DoNotOptimize(value);
    if (history == 0 && ++batches % kBatchesBetweenResets == 0) metric.reset();
  }
}

// `make` returns a fresh metric or collection.
template <class Make, class... Inputs>
void add(const std::string& name, const Make& make, const Inputs&... inputs) {
  benchmark::RegisterBenchmark(
      (name + "/update").c_str(),
      [=](benchmark::State& state) { update(state, make(), inputs...); });
  benchmark::RegisterBenchmark(
      (name + "/forward").c_str(),
      [=](benchmark::State& state) { forward(state, make(), 0, inputs...); });
  benchmark::RegisterBenchmark((name + "/forward_late").c_str(),
                               [=](benchmark::State& state) {
                                 forward(state, make(), kHistory, inputs...);
                               })
      ->Iterations(kHistory);
}

// The same as update, of inputs by name.
template <class Make>
void add_by_name(const std::string& name, const Make& make,
                 const at::Tensor& preds, const at::Tensor& target) {
  benchmark::RegisterBenchmark(
      (name + "(by name)/update").c_str(), [=](benchmark::State& state) {
        auto metric = make();
        for (auto _ : state) {
          metric.update({{"preds", preds}, {"target", target}});
        }
      });
}

tally::MetricCollection six_metrics() {
  tally::MetricCollection metrics;
  metrics.add("accuracy", tally::MulticlassAccuracy(kClasses));
  metrics.add("micro_accuracy",
              tally::MulticlassAccuracy(
                  tally::MulticlassAccuracyOptions(kClasses).average(
                      tally::Average::kMicro)));
  metrics.add("precision", tally::MulticlassPrecision(kClasses));
  metrics.add("recall", tally::MulticlassRecall(kClasses));
  metrics.add("f1", tally::MulticlassF1Score(kClasses));
  metrics.add("confusion", tally::MulticlassConfusionMatrix(kClasses));
  return metrics;
}

void add_regression() {
  const at::Tensor preds = at::randn({kBatch});
  const at::Tensor target = at::randn({kBatch});
  add(
      "MeanSquaredError", [] { return tally::MeanSquaredError(); }, preds,
      target);
  add(
      "PearsonCorrCoef", [] { return tally::PearsonCorrCoef(); }, preds,
      target);
}

void add_aggregation() {
  const at::Tensor value = at::randn({kBatch});
  add(
      "SumMetric", [] { return tally::SumMetric(); }, value);
  add(
      "MeanMetric", [] { return tally::MeanMetric(); }, value,
      at::rand({kBatch}));
  add(
      "MeanMetric(number)", [] { return tally::MeanMetric(); }, 0.25, kBatch);
  add(
      "MaxMetric", [] { return tally::MaxMetric(); }, value);
  add(
      "CatMetric", [] { return tally::CatMetric(); }, value);
}

void add_classification() {
  const at::Tensor preds = at::randn({kBatch, kClasses}).softmax(1);
  const at::Tensor target = at::randint(kClasses, {kBatch}, at::kLong);
  const at::Tensor scores = at::rand({kBatch});
  const at::Tensor labels = at::randint(2, {kBatch}, at::kLong);
  add(
      "BinaryAccuracy", [] { return tally::BinaryAccuracy(); }, scores, labels);
  add(
      "MulticlassAccuracy", [] { return tally::MulticlassAccuracy(kClasses); },
      preds, target);
  add(
      "MulticlassPrecision",
      [] { return tally::MulticlassPrecision(kClasses); }, preds, target);
  add(
      "MulticlassRecall", [] { return tally::MulticlassRecall(kClasses); },
      preds, target);
  add(
      "MulticlassF1Score", [] { return tally::MulticlassF1Score(kClasses); },
      preds, target);
  add(
      "MulticlassConfusionMatrix",
      [] { return tally::MulticlassConfusionMatrix(kClasses); }, preds, target);
  add(
      "MulticlassLogLoss", [] { return tally::MulticlassLogLoss(kClasses); },
      preds, target);
  add(
      "MulticlassAUROC", [] { return tally::MulticlassAUROC(kClasses); }, preds,
      target);
  add(
      "BinaryAUROC", [] { return tally::BinaryAUROC(); }, scores, labels);
  add(
      "BinaryAUROC(thresholds=100)",
      [] {
        return tally::BinaryAUROC(tally::BinaryAUROCOptions().thresholds(100));
      },
      scores, labels);
  add("MetricCollection(6)", six_metrics, preds, target);
  add_by_name(
      "MulticlassAccuracy", [] { return tally::MulticlassAccuracy(kClasses); },
      preds, target);
  add_by_name("MetricCollection(6)", six_metrics, preds, target);
}

}  // namespace

int main(int argc, char** argv) {
  tally::benchmarks::take_target(&argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  at::set_num_threads(1);
  add_aggregation();
  add_regression();
  add_classification();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
