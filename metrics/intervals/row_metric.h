#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "tally/metrics/core/input_calls.h"
#include "tally/metrics/core/input_order.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/intervals/interval_flags.h"
#include "tally/metrics/metric.h"
#include "tally/metrics/metric_base.h"
#include "tally/metrics/resampling/sample_ids.h"
#include "tally/state/state.h"
#include "tally/state/state_key.h"

namespace tally {

namespace internal::intervals {
struct RowCount;
}  // namespace internal::intervals

/// Common base of IntervalMetric and ModelComparison: accumulates rows of a
/// metric's inputs, by unit if the method depends on them. There is no
/// forward(): the interval of a batch is that of an object of its own.
///
/// A unit is what is drawn as a whole: what the metric says (a row, an image,
/// the documents of a query), or a group of rows with the same id. A row whose
/// input `weight` is 0 changes nothing, so that rows which only fill a batch
/// can have that weight, and the id of another row. An id that comes twice
/// otherwise is an error, found by compute(), unless rows are grouped.
class RowMetric : public MetricBase,
                  public internal::UpdateCalls<RowMetric>,
                  public internal::UpdateCalls<RowMetric, SampleIds> {
  using Calls = internal::UpdateCalls<RowMetric>;
  using CallsWithIds = internal::UpdateCalls<RowMetric, SampleIds>;

 public:
  virtual const Metric& metric() const = 0;
  /// The inputs of update() in order; empty if the metric declares none.
  virtual c10::ArrayRef<InputInfo> inputs() const { return metric().inputs(); }
  /// Whether ids affect the result.
  bool uses_ids() const { return rules_.uses_ids; }

  using Calls::update;
  using Calls::update_inputs;
  using CallsWithIds::update;
  using CallsWithIds::update_inputs;
  void update_inputs(Inputs inputs) { update_rows(nullptr, inputs); }
  void update_inputs(const SampleIds& ids, Inputs inputs) {
    update_rows(&ids, inputs);
  }
  void update_inputs(NamedInputs inputs) { update_named(nullptr, inputs); }
  void update_inputs(const SampleIds& ids, NamedInputs inputs) {
    update_named(&ids, inputs);
  }

  /// Does not compile.
  template <class... Args>
  void forward(const Args&...) {
    static_assert(internal::kNever<Args...>,
                  "intervals and comparisons have no forward(): update(), then "
                  "compute()");
  }
  template <class... Args>
  void operator()(const Args&... args) {
    forward(args...);
  }

  /// See Metric::set_metric_options. Options that affect states are those of
  /// the metric, and cannot be changed.
  void set_metric_options(MetricOptions options) {
    set_sync_options(std::move(options));
  }

  /// Rows of this rank so far; while synced, of all.
  std::int64_t rows() const;

 protected:
  struct Rules {
    const char* owner = "";  ///< in messages
    bool uses_ids = false;
    bool grouped = false;
  };

  /// `identity` and `key` are those of the method's state, of rows of `metric`.
  /// `added_inputs`: how many more there are than the metric's, before its own.
  RowMetric(Rules rules, const Metric& metric, AnyState identity, StateKey key,
            std::size_t added_inputs = 0);
  RowMetric(RowMetric&&) noexcept = default;
  RowMetric& operator=(RowMetric&&) noexcept = default;
  ~RowMetric() = default;

  /// The method's state.
  static const AnyState& state_of(const internal::StateRows& rows) {
    return rows[0];
  }
  /// Throws c10::ValueError for ids that repeat and for numbered rows on
  /// several ranks.
  internal::intervals::RowCount count_of(const internal::StateRows& rows) const;
  /// Warns of what a reader of the result has to know: once until reset(), on
  /// rank 0.
  void warn_of(IntervalFlags flags) const;
  void merge_rows(const RowMetric& other);
  /// Copies what is accumulated into one of the same metric and options.
  void copy_into(RowMetric& copy) const;

 private:
  /// The method's state of a batch whose rows have these ids.
  virtual AnyState observe(Inputs inputs,
                           const std::vector<std::int64_t>& ids) const = 0;
  void update_named(const SampleIds* ids, NamedInputs inputs);
  void update_rows(const SampleIds* ids, Inputs inputs);
  std::vector<AnyState> observe_rows(const SampleIds* ids, Inputs inputs) const;
  void check_ids(const SampleIds* ids, std::int64_t rows) const;
  std::vector<std::int64_t> ids_of_units(const SampleIds* ids, Inputs inputs,
                                         std::int64_t rows) const;
  bool is_over_ranks() const;

  Rules rules_;
  std::optional<std::size_t> unit_place_;    // of the input that says them
  std::optional<std::size_t> weight_place_;  // of the input `weight`
  internal::InputOrder input_order_;
};

}  // namespace tally
