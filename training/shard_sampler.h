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
  /// Whether to shuffle the samples, each epoch in another order. Default:
  /// true.
  TORCH_ARG(bool, shuffle) = true;
  /// Of the order, together with the epoch; the same on every rank. Default: 0.
  TORCH_ARG(std::uint64_t, seed) = 0;
  /// Whether the loader's batch_size counts the samples of all ranks together.
  /// Default: false, those of each rank.
  TORCH_ARG(bool, global_batch) = false;
  /// The ranks. Default: sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
};

/// What ShardSampler asks a data set for: it converts to the indices.
class ShardRequest {
 public:
  ShardRequest(std::vector<std::size_t> indices, std::size_t size)
      : indices_(std::move(indices)), size_(size) {}

  /// This rank's samples; none where a global batch has none for it.
  const std::vector<std::size_t>& indices() const { return indices_; }
  operator c10::ArrayRef<std::size_t>() const { return indices_; }  // NOLINT
  /// Those that count for the loader's drop_last: with global_batch the samples
  /// of all ranks.
  std::size_t size() const { return size_; }

 private:
  std::vector<std::size_t> indices_;
  std::size_t size_;
};

/// Deals the samples of a data set to the ranks so that each is seen exactly
/// once in an epoch: none is repeated or left out to make the ranks' numbers
/// equal, as LibTorch's DistributedRandomSampler does.
///
/// In each epoch the samples have an order, the same on every rank. Without
/// global_batch they are dealt in turn, and the loader's batch_size is that of
/// each rank: step k of W ranks consumes the k-th batch_size * W samples of the
/// order. Some ranks may have a batch more than others, and join() lets all of
/// them run equally many steps. With global_batch each batch_size samples of
/// the order are cut into W parts, in rank order, the first ones longer by one
/// where they differ. All ranks then have equally many batches, some of them
/// empty perhaps, and training is the same on any number of ranks. The data set
/// gets an empty list of indices for those; Stack makes a batch of it.
///
/// The order depends on size, seed and epoch alone, not on platform or library:
/// Fisher and Yates' shuffle of 0, 1, ..., which for i = size - 1 down to 1
/// swaps the samples at i and j, with j the next number of std::mt19937_64
/// modulo i + 1. Numbers not below the largest multiple of i + 1 up to 2^64 - 1
/// are passed over. The generator begins with std::seed_seq{seed, seed >> 32,
/// epoch, epoch >> 32}.
///
/// Copies share their state, so that a program keeps a hand on the sampler that
/// it gives to a loader.
///
/// Position. A loader with workers asks for batches long before they are used,
/// and join() for one. Therefore the program says when it is done with one:
/// step(). position() counts the samples of all ranks in the steps done, so it
/// is the same on every rank, whatever has been prefetched, and where a loader
/// starts again on another number of ranks. A loop begins at the position that
/// load() has set, any later one of the epoch, and of others, at 0.
///
/// Errors: c10::ValueError for a size or batch_size that cannot be, or a
/// batch_size that changes within a pass; c10::Error for a step() without a
/// batch, and from load() for what another data set or other options have
/// saved. The sampler is then as it was. A failed load() leaves it unchanged.
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
///         loss_of({model->forward(batch.data), batch.target, {}}).backward();
///         sampler.step();
///       }
///     }
class ShardSampler : public torch::data::samplers::Sampler<ShardRequest> {
 public:
  explicit ShardSampler(std::size_t size,
                        ShardSamplerOptions options = ShardSamplerOptions());

  /// The epoch whose order comes next; the same on every rank. Another one
  /// begins at position 0.
  void set_epoch(std::int64_t epoch);
  std::int64_t epoch() const;

  /// One more step of the loop is done, with or without a batch on this rank.
  void step();
  /// Samples of all ranks in the steps done of this epoch, from 0 to size().
  std::int64_t position() const;
  std::size_t size() const;
  const ShardSamplerOptions& options() const;
  const std::shared_ptr<sync::Communicator>& communicator() const;
  /// One line on what must be the same on every rank.
  std::string description() const;

  /// Begins a pass, of so many samples if `new_size` says so. Loaders call it.
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  /// This rank's next batch; nothing at the end.
  std::optional<ShardRequest> next(std::size_t batch_size) override;

  /// Epoch and position, and what they belong to.
  void save(torch::serialize::OutputArchive& archive) const override;
  /// What save() wrote on any rank, of any number of ranks.
  void load(torch::serialize::InputArchive& archive) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tally::training
