#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/input_order.h"
#include "tally/metrics/metric.h"
#include "tally/metrics/options.h"
#include "tally/metrics/owned_metric.h"
#include "tally/metrics/slice_keys.h"
#include "tally/metrics/warnings.h"

namespace tally {

class SliceComparison;

/// Options of SlicedMetric.
struct SlicedMetricOptions {
  /// All keys that occur, a value for each column: they need not be exchanged
  /// between ranks, and another one is an error. Default: empty, keys are
  /// collected.
  TORCH_ARG(std::vector<std::vector<SliceValue>>, keys);
  /// More slices than this are an error. Default: 10 000.
  TORCH_ARG(std::int64_t, max_slices) = 10'000;
  /// The number of slices to show: those with the most rows over all ranks (of
  /// equal ones the first by key), and the others as one. Default: 0, all.
  TORCH_ARG(std::int64_t, largest) = 0;
};

/// The values of one slice.
struct Slice {
  /// A value for each column; empty for what all the others are folded into.
  std::vector<SliceValue> key;
  std::int64_t rows = 0;
  Results results;

  bool is_other() const { return key.empty(); }
  /// "north, 3", "(other)".
  std::string name() const;
};

/// Metrics for each value of a key, or each combination of several that occurs,
/// in one pass over the rows.
///
/// update(keys, ...): the inputs of the metrics, with a key for each row;
/// tensors and lists have as many rows as there are keys, and 0-dim tensors
/// apply to all of them. Metrics with equal state keys share a state.
/// compute(): the slices in the order of their keys (see SliceKeys::keys),
/// then "other". Each has the value that the metrics have for its rows alone,
/// on any number of ranks, whichever rank has which key. Rows without a key are
/// a slice of their own: every row is in one slice, and rows add up to the
/// total.
/// Collective: one exchange of states, after one or two of keys unless
/// SlicedMetricOptions::keys has them. Slices are folded after ranks are
/// merged, by rows and keys alone: which ones remain depends neither on ranks
/// nor on values.
/// State: that of each metric, once per slice.
/// Empty without rows, except for slices of known keys, which then have 0 rows
/// and the value that the metric has without data.
/// Errors: c10::ValueError for metrics whose value depends on the batches that
/// rows come in (Running, BootStrapper, MinMaxMetric), when constructed; for
/// keys of another number of rows or columns, keys that are not among the known
/// ones, and more than max_slices; and those of the metrics. A call that throws
/// leaves everything unchanged. Not differentiable.
///
/// Thread-safety: as for Metric.
///
/// Example:
///     SlicedMetric by_hospital(MulticlassAccuracy(10));
///     std::vector<std::string> hospital(preds.size(0), "north");
///     by_hospital.update(SliceKeys(hospital), preds, target);
///     for (const Slice& slice : by_hospital.compute()) {
///       std::cout << slice.name() << ' ' << slice.rows << slice.results;
///     }
class SlicedMetric {
 public:
  using Options = SlicedMetricOptions;
  static constexpr const char* kName = "SlicedMetric";

  /// Without a metric; see add().
  explicit SlicedMetric(Options options = {});
  /// With one metric, whose results have the names of its parts; a single
  /// tensor's name is empty.
  explicit SlicedMetric(OwnedMetric metric, Options options = {});

  /// Adds a metric over the same inputs, before the first update; its results
  /// are named `name` or `name.part`. Throws c10::ValueError for a name in use.
  void add(std::string name, OwnedMetric metric);

  const Options& options() const { return options_; }

  /// Accumulates one batch.
  template <class... Args>
  void update(const SliceKeys& keys, const Args&... args) {
    update_inputs(keys, {InputRef::of(internal::as_input(args))...});
  }
  /// The same with named inputs, in any order.
  void update(const SliceKeys& keys, std::initializer_list<NamedInput> inputs) {
    update_inputs(keys, NamedInputs(inputs));
  }
  void update_inputs(const SliceKeys& keys, Inputs inputs);
  void update_inputs(const SliceKeys& keys,
                     std::initializer_list<InputRef> inputs) {
    update_inputs(keys, Inputs(inputs));
  }
  void update_inputs(const SliceKeys& keys, NamedInputs inputs);

  /// The slices over all ranks: those of the first metric's communicator.
  std::vector<Slice> compute();

  /// Saves and loads the slices of this rank, as bytes with version and
  /// checksum. Metrics and options that affect their states must be the same;
  /// on any error, among them keys that are not known and more than max_slices,
  /// everything is unchanged.
  std::string serialize() const;
  absl::Status deserialize(std::string_view bytes);

  /// Forgets all rows.
  void reset();
  /// Slices and rows of this rank so far.
  std::int64_t size() const {
    return static_cast<std::int64_t>(slices_.size());
  }

 private:
  friend class SliceComparison;

  struct Member {
    std::string name;
    std::unique_ptr<Metric> metric;
    std::size_t state;  // its place in Accumulated::states
  };
  struct Accumulated {
    std::int64_t rows = 0;
    std::vector<AnyState> states;  // of observers_
  };
  // By the bytes of keys.
  using Slices = std::map<std::string, Accumulated>;

  const Metric& observer(std::size_t state) const {
    return *members_[observers_[state]].metric;
  }
  Accumulated empty_slice() const;
  absl::Status read(std::string_view bytes);
  void check_keys(const SliceKeys& keys, Inputs inputs) const;
  void check_known(const std::string& key) const;
  void check_count(std::size_t count) const;
  // Inputs by position, or in the order of union_.
  enum class Order { kPositional, kUnion };
  void update_rows(const SliceKeys& keys, Inputs inputs, Order order);
  Accumulated observe(Inputs inputs, std::int64_t rows, Order order) const;
  void merge_batch(Slices batch);
  // Over all ranks, before they are folded.
  Slices merged() const;
  void collect_keys(Slices& slices,
                    const std::shared_ptr<sync::Communicator>& ranks) const;
  void merge_ranks(Slices& slices,
                   const std::shared_ptr<sync::Communicator>& ranks) const;
  std::optional<Accumulated> fold(Slices& slices) const;
  Slice value_of(std::vector<SliceValue> key, const Accumulated& slice) const;
  void warn(const Slices& slices) const;

  Options options_;
  std::int64_t columns_ = 0;  // of keys; 0 before the first
  std::vector<Member> members_;
  std::vector<std::size_t> observers_;  // of states, the member
  internal::InputUnion union_;          // of the observers
  internal::InputOrder input_order_;
  Slices slices_;
  // Of observers_; shared by what the compiler moves.
  std::vector<std::shared_ptr<internal::GivenWarnings>> given_;
};

}  // namespace tally
