#pragma once

#include <ATen/core/grad_mode.h>
#include <absl/status/status.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/metrics/accumulation.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/results.h"

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace tally {

/// A value on its way: what sync_async() returns. Movable; destroyed without
/// wait(), by whatever thread, it still takes part to the end, so that no other
/// rank waits in vain.
template <class Value>
class PendingValue {
 public:
  explicit PendingValue(std::function<Value()> finish)
      : finish_(std::move(finish)) {}
  PendingValue(PendingValue&& other) noexcept
      : finish_(std::exchange(other.finish_, nullptr)) {}
  PendingValue& operator=(PendingValue&& other) noexcept {
    finish_ = std::exchange(other.finish_, nullptr);
    return *this;
  }

  /// Whether the value has yet to be taken.
  bool pending() const noexcept { return finish_ != nullptr; }
  /// The value over all ranks as of sync_async(). Throws SyncError as sync()
  /// does, and c10::Error if the value was taken before.
  Value wait() {
    TORCH_CHECK(pending(),
                "wait() was called twice; expected it once for each ",
                "sync_async()");
    return std::exchange(finish_, nullptr)();
  }

 private:
  std::function<Value()> finish_;
};

/// How a checkpoint holds what several ranks have accumulated.
enum class CheckpointRanks {
  /// One file, of all ranks' states merged: rank 0 writes it, and reads it
  /// back, for however many ranks there are then.
  kOneFile,
  /// Each rank writes its own state, beside a file of the name that is given,
  /// which rank 0 writes last and which says where they are: NAME.a.rank0 or
  /// NAME.b.rank0, and so on. On as many ranks each reads its own back and goes
  /// on exactly where it was; on more or fewer, ranks merge what they read.
  kFilePerRank,
};

namespace internal {
class SyncPart;
}  // namespace internal

/// What a metric and a collection of metrics both are: something that
/// accumulates, syncs, and is saved.
class MetricBase {
 public:
  MetricBase(const MetricBase&) = delete;
  MetricBase& operator=(const MetricBase&) = delete;

  /// A list in braces has no type by itself: does not compile, and says what
  /// to write.
  template <class T, class U>
  void update(std::initializer_list<T>, std::initializer_list<U>) {
    internal::refuse_braces<T>();
  }
  template <class T, class U>
  void update(std::initializer_list<T>,
              std::initializer_list<std::initializer_list<U>>) {
    internal::refuse_braces<T>();
  }
  template <class T, class U>
  Results forward(std::initializer_list<T>, std::initializer_list<U>) {
    internal::refuse_braces<T>();
    return {};
  }
  template <class T, class U>
  Results forward(std::initializer_list<T>,
                  std::initializer_list<std::initializer_list<U>>) {
    internal::refuse_braces<T>();
    return {};
  }

  /// Replaces the local state by that of all ranks until unsync(). Collective.
  void sync();
  /// Back to the local state.
  void unsync();
  /// Back to before the first update.
  void reset();

  MetricState status() const { return accumulation_.state(); }
  bool is_synced() const { return accumulation_.is_synced(); }
  /// Batches accumulated; while synced, by all ranks.
  std::int64_t update_count() const;
  /// A copy of the state, by field; of a collection "group.field".
  Results state() const { return accumulation_.state_tensors(); }

  /// Moves the state; inputs are expected on the same device from now on.
  void to(c10::Device device);

  /// The state as bytes with version and checksum, and back. The metric must
  /// be the same with the same options; on any error it stays as it was.
  /// A save while synced saves this rank's own state.
  ///
  /// A file says which of several ranks saved it (those that compute() would
  /// sync with), and load() refuses another one's, which would count twice.
  /// serialize() does not say.
  std::string serialize() const { return accumulation_.serialize(); }
  absl::Status deserialize(std::string_view bytes);
  absl::Status save(const std::string& path) const;
  absl::Status load(const std::string& path);

  /// The states of all ranks, so that each batch counts once when they are
  /// loaded, on any number of ranks. Collective; local states stay as they are,
  /// and a metric may be synced meanwhile. Every rank gets the same status: if
  /// one cannot write or read, all of them get its error, and the metric and
  /// the older checkpoint are as before. What keeps the ranks from coming to
  /// that throws SyncError, as sync() does; writing counts for the timeout.
  ///
  /// Example:
  ///     MulticlassAccuracy metric(10);
  ///     absl::Status saved =
  ///         metric.save("accuracy.tally", CheckpointRanks::kOneFile);
  ///     absl::Status loaded =
  ///         metric.load("accuracy.tally", CheckpointRanks::kOneFile);
  absl::Status save(const std::string& path, CheckpointRanks ranks);
  /// Throws SyncError kMismatch on every rank unless all of them have the same
  /// metric with the same options.
  absl::Status load(const std::string& path, CheckpointRanks ranks);

  const MetricOptions& metric_options() const {
    return accumulation_.options();
  }

  /// serialize() and deserialize() in an archive of LibTorch, for torch::save
  /// and torch::load, and beside a model in the model's own:
  ///
  ///     torch::serialize::OutputArchive archive, metrics;
  ///     model->save(archive);
  ///     metrics << metric;
  ///     archive.write("metric", metrics);
  ///
  /// Reading throws c10::ValueError for what deserialize() refuses.
  friend torch::serialize::OutputArchive& operator<<(
      torch::serialize::OutputArchive& archive, const MetricBase& metric);
  friend torch::serialize::InputArchive& operator>>(
      torch::serialize::InputArchive& archive, MetricBase& metric);

 protected:
  using Use = internal::Accumulation::Use;

  explicit MetricBase(MetricOptions options)
      : accumulation_(std::move(options)) {}
  MetricBase(MetricBase&&) noexcept = default;
  MetricBase& operator=(MetricBase&&) noexcept = default;
  ~MetricBase() = default;

  // What update, forward, compute and sync_async of all of them are. A batch is
  // what Accumulation::absorb takes.

  /// `observe()` gives the batch.
  template <class Observe>
  void update_by(const Observe& observe) {
    const Use use(accumulation_);
    accumulation_.require_unsynced("update");
    const at::NoGradGuard no_grad;
    auto batch = observe();
    accumulation_.absorb(batch);
  }
  /// `evaluate(batch)` gives its value, with a graph only where one is wanted.
  template <class Observe, class Evaluate>
  auto forward_by(bool is_differentiable, const Observe& observe,
                  const Evaluate& evaluate) {
    const Use use(accumulation_);
    const at::AutoGradMode grad(is_differentiable &&
                                at::GradMode::is_enabled());
    return accumulation_.forward(observe, evaluate);
  }
  /// See Accumulation::compute.
  template <class Value, class Evaluate, class Finish>
  Value compute_by(Value& kept, const Evaluate& evaluate,
                   const Finish& finish) {
    const Use use(accumulation_);
    return accumulation_.compute(kept, evaluate, finish);
  }
  /// `snapshot()` gives a function from the groups' states to the value that
  /// does not depend on this object any more.
  template <class Value, class Snapshot>
  PendingValue<Value> sync_async_by(const Snapshot& snapshot) {
    const Use use(accumulation_);
    accumulation_.require_unsynced("sync_async");
    const auto merge = accumulation_.start_merge_ranks();
    std::vector<AnyState> local;
    if (!merge) {
      for (const auto& group : accumulation_.groups()) {
        local.push_back(group.local);
      }
    }
    return PendingValue<Value>(
        [merge, local = std::move(local), evaluate = snapshot()] {
          return evaluate(merge ? merge->wait().states : local);
        });
  }

  friend class internal::SyncPart;
  internal::Accumulation accumulation_;
};

}  // namespace tally
