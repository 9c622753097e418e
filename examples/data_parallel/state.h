#pragma once

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tally/losses/metric_loss.h"
#include "tally/training/shard_sampler.h"
#include "tally/training/sync_batch_norm.h"

namespace data_parallel {

/// The state from which training resumes.
struct State {
  explicit State(std::size_t samples);
  /// Epochs without a better accuracy.
  std::ptrdiff_t epochs_since_best() const;

  torch::nn::Sequential model{torch::nn::Linear(64, 64),
                              tally::training::SyncBatchNorm1d(64),
                              torch::nn::ReLU(), torch::nn::Linear(64, 10)};
  torch::optim::SGD optimizer{model->parameters(),
                              torch::optim::SGDOptions(0.05).momentum(0.9)};
  tally::training::ShardSampler sampler;
  tally::losses::MetricLoss loss;
  std::vector<double> losses, accuracies;  ///< of completed epochs
  std::int64_t saves = 0;
};

void print_last_epoch(const State& state);
/// Writes losses and accuracies.
void write_json(const State& state, const std::string& path);

/// Saves the state of all ranks; rank 0 writes. The file is renamed when
/// complete, so that there is always an intact one, whenever the ranks are
/// killed. Collective.
void save(State& state, const std::string& path);
/// Loads a state saved by any number of ranks. Collective.
void load(State& state, const std::string& path);

}  // namespace data_parallel
