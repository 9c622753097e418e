// Evaluates a model on two ranks, each of which has every second batch.

#include <ATen/ops/tensor.h>
#include <tally/metrics/classification/accuracy.h>
#include <tally/metrics/classification/auroc.h>
#include <tally/metrics/collection.h>
#include <tally/sync/init.h>
#include <tally/sync/launch.h>
#include <tally/sync/shard.h>

#include <iostream>

int main(int argc, char** argv) {
  if (auto status = tally::sync::launch_local(2, argc, argv)) return *status;
  const auto ranks = tally::sync::init_from_env();

  const at::Tensor preds = at::tensor({0.9, 0.4, 0.7, 0.6, 0.2, 0.3, 0.8, 0.1});
  const at::Tensor target = at::tensor({1, 1, 1, 0, 0, 0, 1, 0});

  tally::MetricCollection metrics;
  metrics.add("accuracy", tally::BinaryAccuracy());
  metrics.add("auroc", tally::BinaryAUROC());
  for (const std::int64_t batch : tally::sync::shard_indices(4, *ranks)) {
    metrics.update(preds.narrow(0, 2 * batch, 2),
                   target.narrow(0, 2 * batch, 2));
  }
  const tally::Results results = metrics.compute();
  if (ranks->rank() == 0) std::cout << results;
}
