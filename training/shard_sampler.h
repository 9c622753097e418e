#pragma once

#include <c10/util/ArrayRef.h>
#include <torch/arg.h>
#include <torch/data/samplers/base.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::training {

/// Options for ShardSampler.
struct ShardSamplerOptions {
  /// Whether to shuffle the samples, differently in each epoch. Default: true.
  TORCH_ARG(bool, shuffle) = true;
  /// Determines the order together with the epoch; the same on every rank.
  /// Default: 0.
  TORCH_ARG(std::int64_t, seed) = 0;
  /// Whether the loader's batch_size is the total over all ranks. Default:
  /// false, it is per rank.
  TORCH_ARG(bool, global_batch) = false;
  /// The ranks. Default: sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
};

/// ShardSampler's request to a data set; converts to the indices.
class ShardRequest {
 public:
  ShardRequest(std::vector<std::size_t> indices, std::size_t size)
      : indices_(std::move(indices)), size_(size) {}

  /// This rank's samples; empty if a global batch has none for it.
  const std::vector<std::size_t>& indices() const { return indices_; }
  operator c10::ArrayRef<std::size_t>() const { return indices_; }  // NOLINT
  /// The size for the loader's drop_last: with global_batch, the samples of all
  /// ranks.
  std::size_t size() const { return size_; }

 private:
  std::vector<std::size_t> indices_;
  std::size_t size_;
};

/// Assigns each sample of a data set to exactly one rank in an epoch: none is
/// repeated or dropped to give all ranks the same number, as LibTorch's
/// DistributedRandomSampler does.
///
/// In each epoch the samples have an order, the same on every rank. Without
/// global_batch they are assigned round-robin, and the loader's batch_size is
/// per rank: step k of W ranks consumes the k-th batch_size * W samples of the
/// order. Some ranks may have one batch more than others; with join() all of
/// them run the same number of steps. With global_batch, each batch_size
/// samples of the order are split into W parts, in rank order, the first ones
/// longer by one if they differ. All ranks then have the same number of
/// batches, some of which may be empty, and training is the same on any number
/// of ranks. For an empty batch the data set gets an empty list of indices,
/// which Stack supports.
///
/// The order depends only on size, seed and epoch, not on platform or library:
/// a Fisher-Yates shuffle of 0, 1, ..., which for i = size - 1 down to 1 swaps
/// the samples at i and j, where j is the next number of std::mt19937_64 modulo
/// i + 1. Numbers not below the largest multiple of i + 1 up to 2^64 - 1 are
/// skipped. The generator is seeded with std::seed_seq{seed, seed >> 32, epoch,
/// epoch >> 32}.
///
/// Copies share their state, so that a program can control the sampler that it
/// passes to a loader.
///
/// Position. A loader with workers requests batches long before they are used,
/// and join() requests one. Therefore the program marks the completion of a
/// batch with step(). position() counts the samples of all ranks in completed
/// steps: it is the same on every rank, independent of prefetching, and where a
/// loader resumes on another number of ranks. A pass starts at the position set
/// by load(); later passes, of this or other epochs, start at 0.
///
/// Errors: c10::ValueError for an invalid size or batch_size, or a batch_size
/// that changes within a pass; c10::Error for a step() without a batch, and
/// from load() for a state saved with another data set or other options. The
/// sampler is unchanged on error, including by a failed load().
///
/// Thread-safety: one thread at a time.
///
/// Example:
///     training::Stack<> collate(train_set.get(0));
///     training::ShardSampler sampler(*train_set.size());
///     auto loader = torch::data::make_data_loader(train_set.map(collate),
///                                                 sampler, 32);
///     for (std::int64_t epoch = sampler.epoch(); epoch < 10; ++epoch) {
///       sampler.set_epoch(epoch);
///       for (auto& batch : *loader) {
///         optimizer.zero_grad();
///         model->forward(batch.data).sub(batch.target).square().mean().backward();
///         optimizer.step();
///         sampler.step();
///       }
///     }
class ShardSampler : public torch::data::samplers::Sampler<ShardRequest> {
 public:
  explicit ShardSampler(std::size_t size,
                        ShardSamplerOptions options = ShardSamplerOptions());

  /// Sets the epoch of the next pass; the same on every rank. A different epoch
  /// starts at position 0.
  void set_epoch(std::int64_t epoch);
  std::int64_t epoch() const;

  /// Marks a step of the loop as completed, with or without a batch on this
  /// rank.
  void step();
  /// Samples of all ranks in the completed steps of this epoch, from 0 to
  /// size().
  std::int64_t position() const;
  std::size_t size() const;
  const ShardSamplerOptions& options() const;
  const std::shared_ptr<sync::Communicator>& communicator() const;
  /// One line with the properties that must be the same on every rank.
  std::string description() const;

  /// Starts a pass, over `new_size` samples if given. Called by loaders.
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  /// This rank's next batch; nullopt at the end.
  std::optional<ShardRequest> next(std::size_t batch_size) override;

  /// Saves epoch and position, and the properties they depend on.
  void save(torch::serialize::OutputArchive& archive) const override;
  /// Loads a state saved on any rank, of any number of ranks.
  void load(torch::serialize::InputArchive& archive) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tally::training
