// What metrics of counts cost on one batch, beside the same with ATen
// operations: see README.md.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <benchmark/benchmark.h>
#include <tally/metrics/classification/classification.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "benchmarks/target.h"

namespace {

constexpr std::int64_t kBatch = 32;
constexpr std::int64_t kClasses = 10;

template <class M, class... Inputs>
void add(const std::string& name, typename M::Options options,
         const Inputs&... inputs) {
  benchmark::RegisterBenchmark((name + "/update").c_str(),
                               [=](benchmark::State& state) {
                                 M metric(options);
                                 for (auto _ : state) metric.update(inputs...);
                               });
  benchmark::RegisterBenchmark((name + "/forward").c_str(),
                               [=](benchmark::State& state) {
                                 M metric(options);
                                 for (auto _ : state) {
                                   auto value = metric.forward(inputs...);
                                   benchmark::DoNotOptimize(value);
                                 }
                               });
}

// One call of `work`, which returns something.
template <class Work>
void add_work(const std::string& name, const Work& work) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    for (auto _ : state) {
      auto result = work();
      benchmark::DoNotOptimize(result);
    }
  });
}

// What somebody would write by hand.
at::Tensor binary_counts(const at::Tensor& preds, const at::Tensor& target) {
  const at::Tensor positive = preds.gt(0.5);
  const at::Tensor truth = target.eq(1);
  return at::stack(
      {positive.logical_and(truth).sum(), positive.sum(), truth.sum()});
}

at::Tensor class_counts(const at::Tensor& preds, const at::Tensor& target,
                        std::int64_t classes) {
  const at::Tensor predicted = preds.argmax(1);
  return at::stack(
      {at::bincount(target.masked_select(predicted.eq(target)), {}, classes),
       at::bincount(predicted, {}, classes),
       at::bincount(target, {}, classes)});
}

at::Tensor top_hits(const at::Tensor& preds, const at::Tensor& target,
                    std::int64_t k) {
  return std::get<1>(preds.topk(k, 1)).eq(target.unsqueeze(1)).any(1).sum();
}

at::Tensor confusion(const at::Tensor& preds, const at::Tensor& target,
                     std::int64_t classes) {
  return at::bincount(target.mul(classes).add(preds.argmax(1)), {},
                      classes * classes);
}

at::Tensor calibration(const at::Tensor& preds, const at::Tensor& target) {
  const auto [confidence, predicted] = preds.softmax(1).max(1);
  const at::Tensor bin = confidence.mul(15).to(at::kLong).clamp_max(14);
  return at::stack(
      {at::bincount(bin, {}, 15), at::bincount(bin, confidence, 15),
       at::bincount(bin, predicted.eq(target).to(at::kDouble), 15)});
}

void add_small() {
  const at::Tensor scores = at::rand({kBatch});
  const at::Tensor binary = at::randint(0, 2, {kBatch}, at::kLong);
  const at::Tensor rows = at::rand({kBatch, kClasses});
  const at::Tensor labels = at::randint(0, kClasses, {kBatch}, at::kLong);
  const at::Tensor several = at::randint(0, 2, {kBatch, kClasses}, at::kLong);
  using namespace tally;
  add<BinaryAccuracy>("BinaryAccuracy", {}, scores, binary);
  add<BinaryF1Score>("BinaryF1Score", {}, scores, binary);
  add<BinaryConfusionMatrix>("BinaryConfusionMatrix", {}, scores, binary);
  add<BinaryCalibrationError>("BinaryCalibrationError", {}, scores, binary);
  add<MulticlassAccuracy>("MulticlassAccuracy", kClasses, rows, labels);
  add<MulticlassCohenKappa>("MulticlassCohenKappa", kClasses, rows, labels);
  add<MulticlassExactMatch>("MulticlassExactMatch", kClasses, rows, labels);
  add<MulticlassCalibrationError>("MulticlassCalibrationError", kClasses, rows,
                                  labels);
  add<MulticlassHingeLoss>("MulticlassHingeLoss", kClasses, rows, labels);
  add<MultilabelF1Score>("MultilabelF1Score", kClasses, rows, several);
  add_work("by_hand/binary", [=] { return binary_counts(scores, binary); });
  add_work("by_hand/multiclass",
           [=] { return class_counts(rows, labels, kClasses); });
}

void add_large() {
  constexpr std::int64_t kRows = 20'000;
  constexpr std::int64_t kMany = 1000;
  constexpr std::int64_t kElements = 10'000'000;
  using namespace tally;
  const at::Tensor rows = at::randn({kRows, kMany});
  const at::Tensor labels = at::randint(0, kMany, {kRows}, at::kLong);
  const at::Tensor scores = at::rand({kElements});
  const at::Tensor binary = at::randint(0, 2, {kElements}, at::kLong);
  const at::Tensor table = scores.view({-1, 100});
  const at::Tensor several = binary.view({-1, 100});
  const auto update = [](auto metric, const at::Tensor& preds,
                         const at::Tensor& target) {
    metric.update(preds, target);
    return metric.update_count();
  };
  add_work("large/read_rows", [=] { return rows.sum(); });
  add_work("large/read_elements",
           [=] { return scores.sum().add(binary.sum()); });
  add_work("large/top1",
           [=] { return update(MulticlassAccuracy(kMany), rows, labels); });
  add_work("large/top1_by_hand",
           [=] { return class_counts(rows, labels, kMany); });
  add_work("large/top5", [=] {
    return update(MulticlassAccuracy(MulticlassAccuracyOptions(kMany).top_k(5)),
                  rows, labels);
  });
  add_work("large/top5_by_hand", [=] { return top_hits(rows, labels, 5); });
  add_work("large/confusion", [=] {
    return update(MulticlassConfusionMatrix(kMany), rows, labels);
  });
  add_work("large/confusion_by_hand",
           [=] { return confusion(rows, labels, kMany); });
  add_work("large/calibration", [=] {
    return update(
        MulticlassCalibrationError(
            MulticlassCalibrationErrorOptions(kMany).input(ScoreKind::kLogits)),
        rows, labels);
  });
  add_work("large/calibration_by_hand",
           [=] { return calibration(rows, labels); });
  add_work("large/binary",
           [=] { return update(BinaryAccuracy(), scores, binary); });
  add_work("large/binary_by_hand",
           [=] { return binary_counts(scores, binary); });
  add_work("large/multilabel",
           [=] { return update(MultilabelAccuracy(100), table, several); });
}

}  // namespace

int main(int argc, char** argv) {
  tally::benchmarks::take_target(&argc, argv);
  if (std::getenv("OMP_NUM_THREADS") == nullptr) at::set_num_threads(1);
  benchmark::Initialize(&argc, argv);
  add_small();
  add_large();
  benchmark::RunSpecifiedBenchmarks();
}
