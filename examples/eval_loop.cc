// Evaluates a classifier with any number of processes.
//
//   ./tools/bazel run //examples:eval_loop
//   torchrun --no-python --nproc-per-node 3 bazel-bin/examples/eval_loop
//
// Both print
//
//   accuracy  0.7975
//   f1        0.786777
//   auroc     0.912773
#include <ATen/ops/arange.h>

#include <iostream>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/collection.h"
#include "tally/sync/init.h"
#include "tally/sync/shard.h"

int main() {
  constexpr std::int64_t kClasses = 3;
  constexpr std::int64_t kBatches = 25;
  constexpr std::int64_t kBatchSize = 40;

  // The group of processes that a launcher started, or only this process.
  const auto ranks = tally::sync::init_from_env();

  tally::MetricCollection metrics;
  metrics.add("accuracy", tally::MulticlassAccuracy(kClasses));
  metrics.add("f1", tally::MulticlassF1Score(kClasses));
  metrics.add("auroc", tally::MulticlassAUROC(kClasses));

  // Each batch goes to exactly one rank: 25 batches on 3 ranks are split into
  // 9, 8 and 8.
  for (std::int64_t batch : tally::sync::shard_indices(kBatches, *ranks)) {
    // In place of a data set and a model.
    const at::Tensor rows =
        at::arange(batch * kBatchSize, (batch + 1) * kBatchSize, at::kLong);
    const at::Tensor labels = rows.remainder(5).remainder(kClasses);
    const at::Tensor classes = at::arange(kClasses, at::kLong);
    const at::Tensor noise = rows.unsqueeze(1).mul(7).add(classes).sin();
    const at::Tensor logits = noise.add(labels.unsqueeze(1).eq(classes));

    metrics.update(logits.softmax(1), labels);
  }

  // Syncs all metrics at once: every rank gets the values over all batches.
  const tally::Results results = metrics.compute();
  if (ranks->rank() == 0) std::cout << results;
}
