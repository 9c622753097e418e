#include "tally/metrics/slices/sliced_metric.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "tally/metrics/progress.h"

namespace tally {
namespace {

std::vector<std::string> bytes_of(
    const std::vector<std::vector<SliceValue>>& keys) {
  std::vector<std::string> bytes;
  for (const auto& key : keys) bytes.push_back(internal::slice_key_bytes(key));
  return bytes;
}

internal::RowKeys rules_of(const SlicedMetricOptions& options) {
  constexpr const char* kName = SlicedMetric::kName;
  TORCH_CHECK_VALUE(options.max_slices() > 0, kName,
                    ": expected max_slices to be at least 1, got ",
                    options.max_slices());
  TORCH_CHECK_VALUE(options.largest() >= 0, kName,
                    ": expected largest to be at least 0, got ",
                    options.largest());
  for (const auto& key : options.keys()) {
    TORCH_CHECK_VALUE(!key.empty() && key.size() == options.keys()[0].size(),
                      kName, ": expected keys of ",
                      std::max<std::size_t>(options.keys()[0].size(), 1),
                      " columns, got one of ", key.size());
  }
  const std::vector<std::string> known = bytes_of(options.keys());
  internal::RowKeys rules =
      internal::slice_rules(kName, options.max_slices(), known);
  rules.check(known, /*others=*/0);
  return rules;
}

}  // namespace

std::string SliceResult::name() const {
  return is_other() ? "(other)" : internal::slice_words(key);
}

SlicedMetric::SlicedMetric(Options options)
    : SlicedRows(rules_of(options), bytes_of(options.keys())),
      options_(std::move(options)) {}

SlicedMetric::SlicedMetric(OwnedMetric metric, Options options)
    : SlicedMetric(std::move(options)) {
  add("", std::move(metric));
}

void SlicedMetric::add(std::string name, OwnedMetric metric) {
  add_metric(std::move(name), metric.take(kName));
}

SliceResult SlicedMetric::value_of(
    std::vector<SliceValue> key, std::int64_t rows,
    c10::function_ref<const AnyState&(std::size_t column)> state_of) const {
  SliceResult value;
  value.key = std::move(key);
  value.rows = rows;
  value.results = metrics_.evaluate(state_of);
  return value;
}

std::vector<SliceResult> SlicedMetric::values_of(
    const internal::StateRows& rows) const {
  std::vector<std::size_t> order(rows.size());
  for (std::size_t r = 0; r < order.size(); ++r) order[r] = r;
  const auto largest = static_cast<std::size_t>(options_.largest());
  std::vector<std::size_t> small;
  if (largest > 0 && order.size() > largest) {
    // Of equal ones the first by key.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) {
                       return rows.count(a) > rows.count(b);
                     });
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(largest);
    small.assign(end, order.end());
    order.erase(end, order.end());
    std::sort(order.begin(), order.end());
    std::sort(small.begin(), small.end());
  }
  std::vector<SliceResult> values;
  for (const std::size_t r : order) {
    values.push_back(value_of(
        internal::slice_key_of(rows.key(r)), rows.count(r),
        [&](std::size_t c) -> const AnyState& { return rows.state(r, c); }));
    report_progress("slices", static_cast<std::int64_t>(values.size()),
                    static_cast<std::int64_t>(order.size()));
  }
  if (small.empty()) return values;
  std::vector<AnyState> other;
  std::int64_t count = 0;
  for (const internal::StateColumn& column : accumulation_.columns()) {
    other.push_back(column.identity);
    for (const std::size_t r : small) {
      merge(other.back(), rows.state(r, other.size() - 1),
            column.label.c_str());
    }
  }
  for (const std::size_t r : small) count += rows.count(r);
  values.push_back(value_of(
      {}, count, [&](std::size_t c) -> const AnyState& { return other[c]; }));
  return values;
}

std::vector<SliceResult> SlicedMetric::compute() {
  check_metrics();
  return compute_by(
      value_, [&](internal::StateRows& rows) { return values_of(rows); },
      [](std::vector<SliceResult>&) {});
}

PendingValue<std::vector<SliceResult>> SlicedMetric::sync_async() {
  check_metrics();
  return sync_async_by<std::vector<SliceResult>>([&] {
    SlicedMetric copy(options_);
    copy_metrics_into(copy);
    return [snapshot = std::make_shared<const SlicedMetric>(std::move(copy))](
               internal::StateRows& rows) { return snapshot->values_of(rows); };
  });
}

SlicedMetric SlicedMetric::clone() const {
  SlicedMetric copy(options_);
  copy_into(copy);
  return copy;
}

std::vector<std::vector<SliceValue>> SlicedMetric::keys() const {
  const Reading reading(accumulation_);
  std::vector<std::vector<SliceValue>> keys;
  for (const std::string& key : accumulation_.own_keys()) {
    keys.push_back(internal::slice_key_of(key));
  }
  return keys;
}

std::int64_t SlicedMetric::size() const {
  const Reading reading(accumulation_);
  if (accumulation_.columns().empty()) return 0;
  std::int64_t slices = 0;
  for (std::size_t r = 0; r < accumulation_.rows(); ++r) {
    slices += accumulation_.cell(r, 0).count > 0 ? 1 : 0;
  }
  return slices;
}

std::string SlicedMetric::spec() const {
  std::string text = std::string(kName) + "(" + metrics_.members_spec();
  text += (text.back() == '(' ? "" : ", ") + options_repr(options_);
  if (!options_.keys().empty()) {
    text += ", keys=" + slice_keys_text(options_.keys());
  }
  return text + ")";
}

std::string SlicedMetric::repr() const {
  const auto& members = metrics_.members_;
  const bool is_nameless = members.size() == 1 && members[0].name.empty();
  return std::string(kName) +
         (is_nameless ? "(metric=" + members[0].metric->repr()
                      : "(" + metrics_.repr()) +
         ")";
}

}  // namespace tally
