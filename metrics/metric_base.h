#pragma once

#include <absl/status/status.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/metrics/core/accumulation.h"
#include "tally/metrics/core/input_device.h"
#include "tally/metrics/core/sources.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/results.h"
#include "tally/port/libtorch_version.h"
#include "tally/state/limit_grad.h"

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace tally {

/// A pending value, returned by sync_async(). Movable; if destroyed without
/// wait(), on any thread, it still completes its part, so that no other rank
/// hangs.
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

  /// Whether the value has not been taken yet.
  bool pending() const noexcept { return finish_ != nullptr; }
  /// The value over all ranks at the time of sync_async(). Throws SyncError
  /// like sync(), and c10::Error if the value has already been taken.
  Value wait() {
    TORCH_CHECK(pending(),
                "wait() was called twice; expected it once for each ",
                "sync_async()");
    return std::exchange(finish_, nullptr)();
  }

 private:
  std::function<Value()> finish_;
};

/// How a checkpoint stores the states of several ranks.
enum class CheckpointRanks {
  /// One file with the merged states of all ranks: rank 0 writes it and reads
  /// it back, for any number of ranks.
  kOneFile,
  /// Each rank writes its own state to NAME.a.rank0 or NAME.b.rank0, and so on;
  /// rank 0 writes the index file NAME last. With the same number of ranks,
  /// each reads its own state back and resumes exactly; with another number,
  /// ranks merge the states they read.
  kFilePerRank,
};

namespace internal {
class SyncPart;
}  // namespace internal

/// Common base of metrics, collections, and everything else that accumulates
/// (intervals, slices, the steps of a run): syncs, and is saved.
class MetricBase {
 public:
  MetricBase(const MetricBase&) = delete;
  MetricBase& operator=(const MetricBase&) = delete;

  /// Replaces the local state by the merged state of all ranks until unsync().
  /// Collective.
  void sync();
  /// Restores the local state.
  void unsync();
  /// Restores the initial state.
  void reset();

  MetricStatus status() const { return accumulation_.status(); }
  bool is_synced() const { return accumulation_.is_synced(); }
  /// Number of batches accumulated; while synced, by all ranks.
  std::int64_t update_count() const { return accumulation_.update_count(); }
  /// A copy of the state, by field; "label.field" where there are several, as
  /// in a collection. Of slices and steps each field has them as a first
  /// dimension, or, if their shapes differ, is listed one by one: "field of
  /// step 2".
  Results state() const;

  /// Moves the state, and what a reset or a load puts in its place. Later
  /// inputs must be on the same device; after to(at::kCPU) they may be on any.
  /// Results are where the inputs of the last batch were.
  void to(c10::Device device);

  /// Saves and loads the state as bytes with version and checksum. The metric
  /// must be the same with the same options; on any error it is unchanged.
  /// Saving while synced saves this rank's own state; loading ends the sync.
  ///
  /// A file records which of several ranks saved it (those that compute() would
  /// sync with), and load() rejects that of another rank, which would be
  /// counted twice. serialize() does not record it.
  std::string serialize() const;
  absl::Status deserialize(std::string_view bytes);
  absl::Status save(const std::string& path) const {
    return save(path, StatePart());
  }
  /// Records which part of the whole this is, for whoever merges the files.
  /// Throws c10::ValueError for an invalid part.
  absl::Status save(const std::string& path, StatePart part) const;
  absl::Status load(const std::string& path);

  /// spec() followed by serialize(): from it alone, another process can make
  /// the same object (see from_bytes); deserialize() reads it, too. Files have
  /// the same contents. Both record what went into the states: a random number
  /// for each object that accumulated something, by which `tally merge` finds
  /// what would be counted twice.
  ///
  /// Code is not included: feature extractors, tokenizers and metrics that are
  /// not in the registry. Their bytes are read by deserialize().
  std::string to_bytes() const;
  /// The text from which make_any_metric() makes a copy without the accumulated
  /// state: metrics and options, except those for ranks.
  virtual std::string spec() const = 0;

  /// Saves the states of all ranks, such that each batch counts once when they
  /// are loaded, on any number of ranks. Collective; local states are
  /// unchanged, and the metric may be synced. Every rank gets the same status:
  /// if one cannot write or read, all of them get its error, and the metric and
  /// the previous checkpoint are unchanged. Communication failures throw
  /// SyncError, as in sync(); writing counts toward the timeout.
  ///
  /// Example:
  ///     MulticlassAccuracy metric(10);
  ///     absl::Status saved =
  ///         metric.save("accuracy.tally", CheckpointRanks::kOneFile);
  ///     absl::Status loaded =
  ///         metric.load("accuracy.tally", CheckpointRanks::kOneFile);
  /// A `part` is that of one file for all ranks; kInvalidArgument with a file
  /// for each.
  absl::Status save(const std::string& path, CheckpointRanks ranks,
                    StatePart part = {});
  /// Throws SyncError kMismatch on every rank unless all of them have the same
  /// metric with the same options.
  absl::Status load(const std::string& path, CheckpointRanks ranks);

  const MetricOptions& metric_options() const {
    return accumulation_.options();
  }

  /// serialize() and deserialize() with a LibTorch archive, for torch::save and
  /// torch::load, or for saving metrics along with a model:
  ///
  ///     torch::serialize::OutputArchive archive, metrics;
  ///     model->save(archive);
  ///     metrics << metric;
  ///     archive.write("metric", metrics);
  ///
  /// Reading throws c10::ValueError if deserialize() returns an error.
  friend torch::serialize::OutputArchive& operator<<(
      torch::serialize::OutputArchive& archive, const MetricBase& metric);
  friend torch::serialize::InputArchive& operator>>(
      torch::serialize::InputArchive& archive, MetricBase& metric);

 protected:
  using Use = internal::Accumulation::Use;
  using Reading = internal::Accumulation::Reading;

  explicit MetricBase(MetricOptions options)
      : accumulation_(std::move(options)) {}
  /// With rows that have keys.
  MetricBase(MetricOptions options, internal::RowKeys keys)
      : accumulation_(std::move(options), std::move(keys)) {}
  MetricBase(MetricBase&&) noexcept = default;
  MetricBase& operator=(MetricBase&&) noexcept = default;
  virtual ~MetricBase() = default;

  // Implementations of update, forward, compute and sync_async. A batch is an
  // argument of Accumulation::absorb.

  /// `observe()` returns the batch of `inputs`: Inputs, NamedInputs, or their
  /// device.
  template <class Given, class Observe>
  void update_by(const Given& inputs, const Observe& observe) {
    const Use use(accumulation_);
    accumulation_.require_unsynced("update");
    const internal::MaybeDevice device = internal::device_of(inputs);
    accumulation_.require_device(device);
    const internal::LimitGrad no_grad(false);
    auto batch = observe();
    accumulation_.absorb(batch);
    accumulation_.note_device(device);
  }
  /// `evaluate(batch)` returns its value, with a graph only if needed.
  template <class Given, class Observe, class Evaluate>
  auto forward_by(const Given& inputs, bool is_differentiable,
                  const Observe& observe, const Evaluate& evaluate) {
    const Use use(accumulation_);
    const internal::LimitGrad grad(is_differentiable);
    return accumulation_.forward(internal::device_of(inputs), observe,
                                 evaluate);
  }
  /// `evaluate(rows)` returns the value of internal::StateRows&, which is kept
  /// between calls; see Accumulation::compute.
  template <class Value, class Evaluate, class Finish>
  Value compute_by(Value& kept, const Evaluate& evaluate, const Finish& finish,
                   const std::vector<std::string>* keys = nullptr) {
    const Use use(accumulation_);
    std::optional<c10::Device> device;
    accumulation_.compute(
        [&](internal::StateRows& rows) {
          kept = evaluate(rows);
          device = rows.device();
        },
        [&] {
          finish(kept);
          internal::move_result(kept, device);
        },
        keys);
    return metric_options().compute_with_cache() ? copy_of(kept)
                                                 : std::move(kept);
  }
  /// Implements merge_state() for another object of the same class.
  void merge_from(const MetricBase& other);
  /// The same for a value that is not kept.
  void compute_once(c10::function_ref<void(internal::StateRows& rows)> evaluate,
                    c10::function_ref<void()> finish);
  /// For a class around metrics, whose options that affect states are theirs:
  /// throws c10::ValueError for others than they have.
  void set_sync_options(MetricOptions options);
  /// `snapshot()` returns a function from internal::StateRows& to the
  /// value that does not depend on this object.
  template <class Value, class Snapshot>
  PendingValue<Value> sync_async_by(const Snapshot& snapshot) {
    const auto ranks = accumulation_.other_ranks();
    auto own = accumulation_.or_report(ranks, snapshot);
    const Use use(accumulation_);
    accumulation_.or_report(
        ranks, [&] { accumulation_.require_unsynced("sync_async"); });
    return PendingValue<Value>([wait = accumulation_.start_merge_ranks(),
                                warn = accumulation_.warn_later(),
                                evaluate = std::move(own)] {
      internal::StateRows rows = wait();
      Value value = evaluate(rows);
      internal::move_result(value, rows.device());
      warn(rows);
      return value;
    });
  }

  friend class internal::SyncPart;
  internal::Accumulation accumulation_;
};

}  // namespace tally
