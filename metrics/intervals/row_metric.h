#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/metrics/input_order.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/intervals/row_accumulator.h"
#include "tally/metrics/intervals/sample_ids.h"
#include "tally/metrics/metric.h"
#include "tally/state/state.h"

namespace tally {

/// Common base of IntervalMetric and ModelComparison: accumulates rows of a
/// metric's inputs, by id if the method depends on them.
class RowMetric {
 public:
  virtual const Metric& metric() const = 0;
  /// The inputs of update() in order; empty if the metric declares none.
  virtual c10::ArrayRef<InputInfo> inputs() const { return metric().inputs(); }
  /// Whether ids affect the result.
  bool uses_ids() const { return accumulated_.rules().uses_ids; }

  /// Accumulates one batch.
  template <class... Args>
  void update(const Args&... args) {
    update_inputs({InputRef::of(internal::as_input(args))...});
  }
  template <class... Args>
  void update(const SampleIds& ids, const Args&... args) {
    update_inputs(ids, {InputRef::of(internal::as_input(args))...});
  }
  /// The same with named inputs, in any order.
  void update(std::initializer_list<NamedInput> inputs) {
    update_inputs(NamedInputs(inputs));
  }
  void update(const SampleIds& ids, std::initializer_list<NamedInput> inputs) {
    update_inputs(ids, NamedInputs(inputs));
  }
  void update_inputs(Inputs inputs) { update_rows(nullptr, inputs); }
  void update_inputs(const SampleIds& ids, Inputs inputs) {
    update_rows(&ids, inputs);
  }
  void update_inputs(std::initializer_list<InputRef> inputs) {
    update_rows(nullptr, Inputs(inputs));
  }
  void update_inputs(const SampleIds& ids,
                     std::initializer_list<InputRef> inputs) {
    update_rows(&ids, Inputs(inputs));
  }
  void update_inputs(NamedInputs inputs) { update_named(nullptr, inputs); }
  void update_inputs(const SampleIds& ids, NamedInputs inputs) {
    update_named(&ids, inputs);
  }

  /// Saves and loads what this rank has accumulated, as bytes with version and
  /// checksum. The metric, the method and options that affect its state must be
  /// the same; on any error, everything is unchanged.
  std::string serialize() const;
  absl::Status deserialize(std::string_view bytes);

  /// Forgets all rows.
  void reset() { accumulated_.reset(); }
  /// Rows of this rank so far.
  std::int64_t rows() const { return accumulated_.rows(); }

 protected:
  explicit RowMetric(internal::intervals::RowAccumulator::Rules rules)
      : accumulated_(std::move(rules)) {}
  RowMetric(RowMetric&&) noexcept = default;
  RowMetric& operator=(RowMetric&&) noexcept = default;
  ~RowMetric() = default;

  /// Collective.
  internal::intervals::RowAccumulator::All merged() const {
    return accumulated_.merged(metric());
  }

 private:
  /// The method's state of a batch whose rows have these ids.
  virtual AnyState observe(Inputs inputs,
                           const std::vector<std::int64_t>& ids) const = 0;
  void update_named(const SampleIds* ids, NamedInputs inputs);
  void update_rows(const SampleIds* ids, Inputs inputs);

  internal::intervals::RowAccumulator accumulated_;
  internal::InputOrder input_order_;
};

}  // namespace tally
