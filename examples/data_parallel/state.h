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

/// What training goes on from.
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
  std::vector<double> losses, accuracies;  ///< of the epochs done
  std::int64_t saves = 0;
};

void print_last_epoch(const State& state);
/// Losses and accuracies.
void write_json(const State& state, const std::string& path);

/// Saves the state of all ranks; rank 0 writes. The file takes its name when it
/// is complete: whenever the ranks are killed, there is a whole one.
/// Collective.
void save(State& state, const std::string& path);
/// Takes over what any number of ranks have saved. Collective.
void load(State& state, const std::string& path);

}  // namespace data_parallel
