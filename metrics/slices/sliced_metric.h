#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/options.h"
#include "tally/metrics/owned_metric.h"
#include "tally/metrics/slices/slice_keys.h"
#include "tally/metrics/slices/sliced_rows.h"

namespace tally {

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

 public:
  /// All but the keys.
  void visit(OptionVisitor& v) {
    v("max_slices", max_slices_, "More slices than this are an error.");
    v("largest", largest_, OptionRole::kValue,
      "The number of slices to show, those with the most rows; 0: all.");
  }
};

/// The values of one slice.
struct SliceResult {
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
/// apply to all of them. Metrics share states as in a MetricCollection.
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
///     for (const SliceResult& slice : by_hospital.compute()) {
///       std::cout << slice.name() << ' ' << slice.rows << slice.results;
///     }
class SlicedMetric final
    : public SlicedRows,
      public internal::UpdateCalls<SlicedMetric, SliceKeys>,
      public internal::OptionCalls<SlicedMetric> {
 public:
  using Options = SlicedMetricOptions;
  static constexpr const char* kName = "SlicedMetric";

  /// Without a metric; see add().
  explicit SlicedMetric(Options options = {});
  /// With one metric, whose results have the names of its parts; a single
  /// tensor's name is empty.
  explicit SlicedMetric(OwnedMetric metric, Options options = {});

  /// Adds a metric over the same inputs, before the first update; its results
  /// are named `name` or `name.part`. Throws c10::ValueError for a name in use,
  /// a metric that has accumulated data, and other options for syncing and
  /// caching than those of the first metric.
  void add(std::string name, OwnedMetric metric);

  const Options& options() const { return options_; }

  using UpdateCalls::update_inputs;
  void update_inputs(const SliceKeys& keys, Inputs inputs) {
    update_rows(keys, inputs);
  }
  void update_inputs(const SliceKeys& keys, NamedInputs inputs) {
    update_rows(keys, inputs);
  }

  /// The slices over all ranks: those of the first metric's communicator.
  std::vector<SliceResult> compute();
  /// See MetricOf::sync_async. Waits for the exchange of keys, unless they are
  /// known.
  PendingValue<std::vector<SliceResult>> sync_async();

  /// Adds what `other`, with the same metrics, accumulated.
  void merge_state(const SlicedMetric& other) { merge_from(other); }
  /// Separate metrics with the same options and slices.
  SlicedMetric clone() const;

  /// The keys of this rank's slices, or while synced of all: those of the first
  /// dimension of state(), where each column's fields have one shape.
  std::vector<std::vector<SliceValue>> keys() const;
  /// Slices with rows of this rank so far.
  std::int64_t size() const;
  /// One line per metric.
  std::string repr() const;
  std::string spec() const override;

 private:
  std::vector<SliceResult> values_of(const internal::StateRows& rows) const;
  SliceResult value_of(
      std::vector<SliceValue> key, std::int64_t rows,
      c10::function_ref<const AnyState&(std::size_t column)> state_of) const;

  Options options_;
  std::vector<SliceResult> value_;
};

inline void for_each_tensor(SliceResult& slice,
                            c10::function_ref<void(at::Tensor&)> visit) {
  for_each_tensor(slice.results, visit);
}

}  // namespace tally
