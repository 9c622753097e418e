#pragma once

#include <c10/util/FunctionRef.h>
#include <torch/arg.h>

#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "tally/sync/communicator.h"
#include "tally/training/shard_sampler.h"

namespace tally::training {

/// Options for join().
struct JoinOptions {
  /// The ranks; must be those of the metrics and losses in the loop. Default:
  /// sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
  /// How long the loop's own collectives wait for other ranks. Default: the
  /// communicator's timeout.
  TORCH_ARG(sync::Timeout, timeout) = {};
  /// The loader's sampler: before the first step, the ranks check that their
  /// samplers are consistent. Default: none.
  TORCH_ARG(std::optional<ShardSampler>, sampler) = std::nullopt;
};

namespace internal {

/// A loop's communication with the other ranks.
class JoinLoop {
 public:
  explicit JoinLoop(const JoinOptions& options);
  /// Ends the loop for this rank.
  ~JoinLoop();
  JoinLoop(const JoinLoop&) = delete;
  JoinLoop& operator=(const JoinLoop&) = delete;

  /// Collective. `fetch` loads the first batch and returns whether there is
  /// one. Returns whether any rank has one.
  bool begin(c10::function_ref<bool()> fetch);
  /// Starts a step, in which the others receive the result of `fetch`.
  void begin_step(c10::function_ref<bool()> fetch);
  /// Whether any rank has a batch for another step; collective if nothing else
  /// in this step was.
  bool end_step();

 private:
  class Step;

  JoinOptions options_;
  std::shared_ptr<sync::Communicator> communicator_;
  std::unique_ptr<Step> step_;
};

}  // namespace internal

namespace internal {

template <class Loader>
using BatchOf = std::decay_t<decltype(*std::declval<Loader&>().begin())>;

}  // namespace internal

/// The result of join(): a range over batches, for one loop at a time.
template <class Loader>
class JoinedBatches {
 public:
  using Batch = internal::BatchOf<Loader>;

  /// Advances according to JoinedBatches.
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = Batch;
    using pointer = Batch*;
    using reference = Batch&;
    using iterator_category = std::input_iterator_tag;

    explicit Iterator(JoinedBatches* batches) : batches_(batches) {}

    Batch& operator*() const { return *batches_->current_; }
    Batch* operator->() const { return &*batches_->current_; }
    Iterator& operator++() {
      if (!batches_->advance()) batches_ = nullptr;
      return *this;
    }
    bool operator==(const Iterator& other) const {
      return batches_ == other.batches_;
    }
    bool operator!=(const Iterator& other) const { return !(*this == other); }

   private:
    JoinedBatches* batches_;
  };

  JoinedBatches(Loader& loader, Batch empty_batch, JoinOptions options)
      : loader_(loader),
        empty_batch_(std::move(empty_batch)),
        options_(std::move(options)) {}
  JoinedBatches(const JoinedBatches&) = delete;
  JoinedBatches& operator=(const JoinedBatches&) = delete;

  /// Collective, as is advancing to the next batch.
  Iterator begin() {
    loop_.reset();
    loop_.emplace(options_);
    const bool any = loop_->begin([this] {
      place_.reset();
      return fetch();
    });
    if (!any) {
      end_loop();
      return end();
    }
    begin_step();
    return Iterator(this);
  }
  Iterator end() { return Iterator(nullptr); }

 private:
  using Place = decltype(std::declval<Loader&>().begin());

  // The loader's next batch, if there is one.
  bool fetch() {
    next_.reset();
    if (place_) {
      ++*place_;
    } else {
      place_.emplace(loader_.begin());
    }
    if (*place_ == loader_.end()) return false;
    // A loader returns each batch once, a container keeps its batches.
    using Category = typename std::iterator_traits<Place>::iterator_category;
    if constexpr (std::is_same_v<Category, std::input_iterator_tag>) {
      next_.emplace(std::move(**place_));
    } else {
      next_.emplace(**place_);
    }
    return true;
  }
  void begin_step() {
    if (next_) {
      current_.emplace(std::move(*next_));
      loop_->begin_step([this] { return fetch(); });
    } else {
      current_.emplace(empty_batch_);
      loop_->begin_step([] { return false; });
    }
  }
  bool advance() {
    if (!loop_->end_step()) {
      end_loop();
      return false;
    }
    begin_step();
    return true;
  }
  void end_loop() {
    current_.reset();
    loop_.reset();
  }

  Loader& loader_;
  Batch empty_batch_;
  JoinOptions options_;
  std::optional<internal::JoinLoop> loop_;
  std::optional<Place> place_;
  std::optional<Batch> current_, next_;
};

/// Iterates over the batches of `loader`, for as many steps as the rank with
/// the most batches: a rank that has run out gets `empty_batch`, a batch
/// without rows, and takes part in the others' steps. Values and gradients are
/// then those of the remaining rows. Metrics, losses, MetricLoss,
/// average_gradients and SyncBatchNorm all support batches without rows.
///
/// Every rank must enter the loop, and leave it together with the others: a
/// break must depend on values that are the same on all of them. A rank fetches
/// each batch from its loader one step ahead, and tells the others in the first
/// exchange of the step. The loop thus costs one collective before the first
/// step, and one in each step without any exchange between these ranks.
///
/// `loader` is a LibTorch data loader, the pointer that make_data_loader
/// returns, or any range of batches; it must outlive the loop.
///
/// Errors: exceptions of the loader are thrown on this rank, while the others
/// throw SyncError kPeerFailed with the text at their next exchange. kMismatch
/// on every rank if not all of them are in the loop, or if their samplers
/// differ in samples, seed, epoch or position. c10::Error for a nested loop
/// over the same ranks, c10::ValueError for a sampler of other ranks; the outer
/// loop can continue.
///
/// Example:
///     training::Stack<> collate(train_set.get(0));
///     training::ShardSampler sampler(*train_set.size());
///     auto data = torch::data::make_data_loader(train_set.map(collate),
///                                               sampler, 32);
///     losses::MetricLoss loss{MeanSquaredError()};
///     for (auto& batch : training::join(data, collate.empty_batch())) {
///       optimizer.zero_grad();
///       loss->forward(model->forward(batch.data), batch.target).backward();
///       sync::average_gradients(model->parameters());
///       optimizer.step();
///       sampler.step();
///     }
template <class Loader>
JoinedBatches<Loader> join(Loader& loader,
                           internal::BatchOf<Loader> empty_batch,
                           JoinOptions options = JoinOptions()) {
  return JoinedBatches<Loader>(loader, std::move(empty_batch),
                               std::move(options));
}

template <class Loader>
JoinedBatches<Loader> join(const std::unique_ptr<Loader>& loader,
                           internal::BatchOf<Loader> empty_batch,
                           JoinOptions options = JoinOptions()) {
  return join(*loader, std::move(empty_batch), std::move(options));
}

}  // namespace tally::training
