// Batch norm over ranks, in a workspace that depends on Tally.

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <tally/sync/init.h>
#include <tally/training/join.h>
#include <tally/training/sync_batch_norm.h>

#include <iostream>
#include <vector>

int main() {
  tally::sync::init_from_env();
  tally::training::SyncBatchNorm1d norm(3);
  const std::vector<at::Tensor> batches{at::ones({4, 3})};
  for (auto& batch : tally::training::join(batches, at::zeros({0, 3}))) {
    norm->forward(batch);
  }
  std::cout << norm->running_mean << '\n';
}
