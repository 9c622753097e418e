#pragma once

#include <c10/util/ArrayRef.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/core/input_calls.h"
#include "tally/metrics/core/input_order.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_base.h"
#include "tally/metrics/slices/slice_keys.h"

namespace tally {
namespace internal {
/// How slices are told apart. Without `known` keys they are collected.
/// `rows_of_slice`: the parts of a slice that are rows of their own.
RowKeys slice_rules(const char* owner, std::int64_t max_slices,
                    const std::vector<std::string>& known,
                    std::size_t rows_of_slice = 1);
}  // namespace internal

/// Common base of SlicedMetric and SliceComparison: the states of metrics, once
/// for each key. There is no forward(): the value of a batch's slices is that
/// of an object of its own.
class SlicedRows : public MetricBase {
 public:
  /// Does not compile.
  template <class... Args>
  void forward(const Args&...) {
    static_assert(internal::kNever<Args...>,
                  "slices have no forward(): update(), then compute()");
  }
  template <class... Args>
  void operator()(const Args&... args) {
    forward(args...);
  }

  /// See Metric::set_metric_options. Options that affect states are those of
  /// the metrics, and cannot be changed.
  void set_metric_options(MetricOptions options) {
    set_sync_options(std::move(options));
  }

 protected:
  /// `known`: the keys that there are, or none if they are collected.
  SlicedRows(internal::RowKeys rules, std::vector<std::string> known);
  SlicedRows(SlicedRows&&) noexcept = default;
  SlicedRows& operator=(SlicedRows&&) noexcept = default;

  const char* owner() const { return accumulation_.index()->rules().owner; }
  void add_metric(std::string name, std::unique_ptr<Metric> metric);
  /// Adds the states of columns behind those of the metrics.
  using AddStates = c10::function_ref<void(std::vector<internal::RowBatch>&)>;
  void update_rows(const SliceKeys& keys, Inputs inputs, AddStates add = {});
  void update_rows(const SliceKeys& keys, NamedInputs inputs,
                   AddStates add = {});
  /// Adds a batch whose rows all have this key.
  void update_row(const std::string& key, Inputs inputs);
  void update_row(const std::string& key, NamedInputs inputs);
  /// The values of one row.
  Results results_of(const internal::StateRows& rows, std::size_t row) const;
  /// Throws c10::ValueError unless there is a metric.
  void check_metrics() const;
  /// As in spec(): "metrics={name: metric, ...}".
  std::string metrics_text() const { return metrics_.members_spec(); }
  /// Into an empty one.
  void copy_metrics_into(SlicedRows& copy) const;
  void copy_into(SlicedRows& copy) const;

  MetricCollection metrics_;  // accumulates nothing itself

 private:
  enum class Order { kPositional, kUnion };

  void check_keys(const SliceKeys& keys, Inputs inputs) const;
  std::vector<internal::RowBatch> observe(const SliceKeys& keys, Inputs inputs,
                                          Order order, AddStates add) const;
  std::vector<internal::RowBatch> observe_row(const std::string& key,
                                              Inputs inputs, Order order) const;
  void observe_block(c10::ArrayRef<std::int32_t> codes, Inputs inputs,
                     Order order, std::vector<internal::RowBatch>& batch) const;
};

}  // namespace tally
