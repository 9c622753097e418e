#include "tally/metrics/slices/sliced_rows.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tally/metrics/core/sorted_rows.h"
#include "tally/metrics/core/sync_options.h"

namespace tally {
namespace internal {
namespace {

std::string slice_name(const std::string& key) {
  return "the slice " + slice_words(slice_key_of(key));
}

void check_columns(const char* owner, const std::vector<std::string>& keys,
                   const std::string& like) {
  const auto columns = slice_key_columns(like);
  for (const std::string& key : keys) {
    const auto own = slice_key_columns(key);
    TORCH_CHECK_VALUE(own && *own > 0, owner, ": expected keys, got others");
    TORCH_CHECK_VALUE(own == columns, owner, ": expected keys of ", *columns,
                      " columns, got ", *own);
  }
}

/// The last column is the part of a slice.
void check_parts(const char* owner, const std::vector<std::string>& keys,
                 std::size_t parts) {
  for (const std::string& key : keys) {
    const std::vector<SliceValue> values = slice_key_of(key);
    const auto* part = std::get_if<std::int64_t>(&values.back());
    TORCH_CHECK_VALUE(values.size() > 1 && part != nullptr && *part >= 0 &&
                          *part < static_cast<std::int64_t>(parts),
                      owner, ": expected keys with a part below ", parts);
  }
}

}  // namespace

RowKeys slice_rules(const char* owner, std::int64_t max_slices,
                    const std::vector<std::string>& known,
                    std::size_t rows_of_slice) {
  RowKeys rules;
  rules.owner = owner;
  rules.name = slice_name;
  rules.collected = known.empty();
  rules.check = [owner, max_slices, rows_of_slice,
                 known = std::set<std::string>(known.begin(), known.end())](
                    const std::vector<std::string>& keys, std::size_t others) {
    if (keys.empty()) return;
    check_columns(owner, keys, known.empty() ? keys[0] : *known.begin());
    if (rows_of_slice > 1) check_parts(owner, keys, rows_of_slice);
    for (const std::string& key : keys) {
      TORCH_CHECK_VALUE(known.empty() || known.count(key) != 0, owner,
                        ": expected one of the known keys, got '",
                        slice_words(slice_key_of(key)), "'");
    }
    const std::size_t slices =
        (keys.size() + others + rows_of_slice - 1) / rows_of_slice;
    TORCH_CHECK_VALUE(static_cast<std::int64_t>(slices) <= max_slices, owner,
                      ": expected at most ", max_slices,
                      " slices (max_slices), got ",
                      rows_of_slice == 1 ? "" : "at least ", slices);
  };
  return rules;
}

}  // namespace internal

namespace {

/// A batch is divided by its slices in blocks that fit the caches, as far as
/// that leaves enough rows to each slice.
std::int64_t rows_of_block(const SliceKeys& keys, Inputs inputs) {
  constexpr std::int64_t kRows = 1 << 17;
  constexpr std::int64_t kRowsOfSlice = 1 << 10;
  for (const InputRef& input : inputs) {
    if (input.rows() >= 0 && input.as<at::Tensor>() == nullptr) {
      return std::max<std::int64_t>(keys.size(), 1);
    }
  }
  return std::max(kRows,
                  kRowsOfSlice * static_cast<std::int64_t>(keys.keys().size()));
}

/// The inputs of some rows that follow each other; all of them as they are.
class BlockInputs {
 public:
  /// REQUIRES: inputs that have rows are tensors, unless all are wanted.
  BlockInputs(Inputs inputs, std::int64_t first, std::int64_t rows) {
    own_.reserve(inputs.size());
    for (const InputRef& input : inputs) {
      if (input.rows() < 0 || input.rows() == rows) {
        refs_.push_back(input);
        continue;
      }
      own_.push_back(input.as<at::Tensor>()->narrow(0, first, rows));
      refs_.push_back(InputRef::of(own_.back()));
    }
  }
  Inputs refs() const { return refs_; }

 private:
  std::vector<at::Tensor> own_;
  std::vector<InputRef> refs_;
};

}  // namespace

SlicedRows::SlicedRows(internal::RowKeys rules, std::vector<std::string> known)
    : MetricBase(MetricOptions(), std::move(rules)) {
  if (!known.empty()) accumulation_.add_rows(known, /*known=*/true);
}

void SlicedRows::add_metric(std::string name, std::unique_ptr<Metric> metric) {
  const Use use(accumulation_);
  TORCH_CHECK_VALUE(
      status() == MetricStatus::kEmpty, owner(),
      ": rows have been accumulated; add metrics before the first update");
  TORCH_CHECK_VALUE(!metrics_.contains(name), owner(),
                    ": expected one metric of each name, got '", name,
                    "' twice");
  TORCH_CHECK_VALUE(!internal::depends_on_batches(*metric), owner(),
                    ": expected a metric whose value does not depend on the "
                    "batches that rows come in, got ",
                    metric->repr());
  const MetricOptions options = metric->metric_options();
  TORCH_CHECK_VALUE(
      metrics_.size() == 0 ||
          internal::same_sync_options(options, metric_options()),
      owner(),
      ": expected the options for syncing and caching of the first "
      "metric, got others for '",
      name, "'");
  metric->set_metric_options(internal::without_sync_options(options));
  const bool is_first = metrics_.size() == 0;
  metrics_.add_member(std::move(name), std::move(metric));
  if (is_first) accumulation_.set_options(options);
  accumulation_.clear_columns();
  for (const internal::StateColumn& column : metrics_.accumulation_.columns()) {
    accumulation_.add_column(column);
  }
}

void SlicedRows::check_metrics() const {
  TORCH_CHECK_VALUE(metrics_.size() > 0, owner(),
                    ": expected a metric, see add()");
}

void SlicedRows::check_keys(const SliceKeys& keys, Inputs inputs) const {
  check_metrics();
  for (const InputRef& input : inputs) {
    TORCH_CHECK_VALUE(input.rows() < 0 || input.rows() == keys.size(), owner(),
                      ": expected a key for each of ", input.rows(),
                      " rows, got ", keys.size());
  }
}

std::vector<internal::RowBatch> SlicedRows::observe(const SliceKeys& keys,
                                                    Inputs inputs, Order order,
                                                    AddStates add) const {
  check_keys(keys, inputs);
  std::vector<internal::RowBatch> batch(keys.keys().size());
  for (std::size_t code = 0; code < batch.size(); ++code) {
    batch[code].key = keys.keys()[code];
  }
  const std::int64_t rows = keys.size();
  const std::int64_t most = rows_of_block(keys, inputs);
  const c10::ArrayRef<std::int32_t> codes = keys.codes();
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t own = std::min(most, rows - first);
    const BlockInputs block(inputs, first, own);
    observe_block(codes.slice(static_cast<std::size_t>(first),
                              static_cast<std::size_t>(own)),
                  block.refs(), order, batch);
  }
  if (add) add(batch);
  return batch;
}

void SlicedRows::observe_block(c10::ArrayRef<std::int32_t> codes, Inputs inputs,
                               Order order,
                               std::vector<internal::RowBatch>& batch) const {
  const internal::SortedRows sorted(codes, batch.size(), inputs);
  for (std::size_t code = 0; code < batch.size(); ++code) {
    if (sorted.rows(code) == 0) continue;
    sorted.use(code, [&](Inputs own, std::int64_t rows) {
      internal::RowBatch& row = batch[code];
      std::vector<AnyState> states =
          order == Order::kUnion ? metrics_.observe_union(own, BatchOrigin())
                                 : metrics_.observe_same(own, BatchOrigin());
      if (row.states.empty()) {
        row.states = std::move(states);
        row.counts.assign(row.states.size(), rows);
        return;
      }
      for (std::size_t c = 0; c < states.size(); ++c) {
        row.counts[c] += rows;
        if (!states[c].defined()) continue;
        if (row.states[c].defined()) {
          merge(row.states[c], std::move(states[c]), owner());
        } else {
          row.states[c] = std::move(states[c]);
        }
      }
    });
  }
}

void SlicedRows::update_rows(const SliceKeys& keys, NamedInputs given,
                             AddStates add) {
  update_by(given, [&] {
    internal::OrderedInputs ordered;
    metrics_.arrange(given, owner(), ordered);
    return observe(keys, ordered, Order::kUnion, add);
  });
}

void SlicedRows::update_rows(const SliceKeys& keys, Inputs inputs,
                             AddStates add) {
  update_by(inputs, [&] {
    metrics_.union_.check_agreement(owner(), inputs.size());
    return observe(keys, inputs, Order::kPositional, add);
  });
}

std::vector<internal::RowBatch> SlicedRows::observe_row(const std::string& key,
                                                        Inputs inputs,
                                                        Order order) const {
  check_metrics();
  std::int64_t rows = -1;
  for (const InputRef& input : inputs) rows = std::max(rows, input.rows());
  std::vector<internal::RowBatch> batch(1);
  batch[0].key = key;
  batch[0].states = order == Order::kUnion
                        ? metrics_.observe_union(inputs, BatchOrigin())
                        : metrics_.observe_same(inputs, BatchOrigin());
  batch[0].counts.assign(batch[0].states.size(), rows < 0 ? 1 : rows);
  return batch;
}

void SlicedRows::update_row(const std::string& key, NamedInputs given) {
  update_by(given, [&] {
    internal::OrderedInputs ordered;
    metrics_.arrange(given, owner(), ordered);
    return observe_row(key, ordered, Order::kUnion);
  });
}

void SlicedRows::update_row(const std::string& key, Inputs inputs) {
  update_by(inputs, [&] {
    metrics_.union_.check_agreement(owner(), inputs.size());
    return observe_row(key, inputs, Order::kPositional);
  });
}

Results SlicedRows::results_of(const internal::StateRows& rows,
                               std::size_t row) const {
  return metrics_.evaluate(
      [&](std::size_t c) -> const AnyState& { return rows.state(row, c); });
}

void SlicedRows::copy_metrics_into(SlicedRows& copy) const {
  copy.accumulation_.set_options(metric_options());
  copy.metrics_ = metrics_.clone();
  copy.accumulation_.clear_columns();
  for (const internal::StateColumn& column : accumulation_.columns()) {
    copy.accumulation_.add_column(column);
  }
}

void SlicedRows::copy_into(SlicedRows& copy) const {
  copy_metrics_into(copy);
  copy.accumulation_.copy_state(accumulation_);
}

}  // namespace tally
