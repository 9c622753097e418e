#include "tally/metrics/sliced_metric.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "tally/metrics/sorted_rows.h"
#include "tally/state/outside_inference.h"
#include "tally/sync/exchange/state_sync.h"
#include "tally/sync/gather.h"

namespace tally {
namespace {

/// The numbers of rows of all slices.
struct RowCounts {
  at::Tensor rows;
  void fields(Fields& f) { f("rows", rows); }
};

void append_number(std::int64_t number, std::string& bytes) {
  char copy[sizeof number];
  std::memcpy(copy, &number, sizeof number);
  bytes.append(copy, sizeof number);
}

std::string hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<std::uint8_t>(c) >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

std::string joined(const std::string& name, const std::string& part) {
  return name.empty() || part.empty() ? name + part : name + "." + part;
}

std::string words_of(const std::vector<SliceValue>& key) {
  std::string text;
  for (const SliceValue& value : key) {
    text += (text.empty() ? "" : ", ") + to_string(value);
  }
  return text;
}

}  // namespace

std::string Slice::name() const {
  return is_other() ? "(other)" : words_of(key);
}

SlicedMetric::SlicedMetric(Options options) : options_(std::move(options)) {
  TORCH_CHECK_VALUE(options_.max_slices() > 0, kName,
                    ": expected max_slices to be at least 1, got ",
                    options_.max_slices());
  TORCH_CHECK_VALUE(options_.largest() >= 0, kName,
                    ": expected largest to be at least 0, got ",
                    options_.largest());
  check_count(options_.keys().size());
  for (const auto& key : options_.keys()) {
    TORCH_CHECK_VALUE(!key.empty() && key.size() == options_.keys()[0].size(),
                      kName, ": expected keys of ",
                      std::max<std::size_t>(options_.keys()[0].size(), 1),
                      " columns, got one of ", key.size());
    columns_ = static_cast<std::int64_t>(key.size());
  }
}

SlicedMetric::SlicedMetric(OwnedMetric metric, Options options)
    : SlicedMetric(std::move(options)) {
  add("", std::move(metric));
}

void SlicedMetric::add(std::string name, OwnedMetric owned) {
  TORCH_CHECK_VALUE(slices_.empty(), kName,
                    ": expected metrics before the first update");
  for (const Member& member : members_) {
    TORCH_CHECK_VALUE(member.name != name, kName,
                      ": expected one metric of each name, got '", name,
                      "' twice");
  }
  std::unique_ptr<Metric> metric = owned.take(kName);
  TORCH_CHECK_VALUE(!internal::depends_on_batches(*metric), kName,
                    ": expected a metric whose value does not depend on the "
                    "batches that rows come in, got ",
                    metric->repr());
  std::size_t state = 0;
  while (state < observers_.size() &&
         observer(state).state_key() != metric->state_key()) {
    ++state;
  }
  if (state == observers_.size()) {
    observers_.push_back(members_.size());
    given_.push_back(std::make_shared<internal::GivenWarnings>(
        internal::RowParts::kDisjoint));
  }
  members_.push_back({std::move(name), std::move(metric), state});
  std::vector<internal::InputUnion::Reader> readers;
  for (const std::size_t member : observers_) {
    const Metric& each = *members_[member].metric;
    readers.push_back({each.name(), each.inputs(), each.positional_inputs()});
  }
  union_ = internal::InputUnion(std::move(readers));
  input_order_.forget();
}

SlicedMetric::Accumulated SlicedMetric::empty_slice() const {
  Accumulated slice;
  for (std::size_t i = 0; i < observers_.size(); ++i) {
    slice.states.push_back(observer(i).make_state());
  }
  return slice;
}

void SlicedMetric::check_count(std::size_t count) const {
  TORCH_CHECK_VALUE(static_cast<std::int64_t>(count) <= options_.max_slices(),
                    kName, ": expected at most ", options_.max_slices(),
                    " slices (max_slices), got ", count);
}

void SlicedMetric::check_known(const std::string& key) const {
  if (options_.keys().empty()) return;
  const auto values = internal::slice_key_of(key);
  TORCH_CHECK_VALUE(std::find(options_.keys().begin(), options_.keys().end(),
                              values) != options_.keys().end(),
                    kName, ": expected the keys that are known, got '",
                    words_of(values), "'");
}

void SlicedMetric::check_keys(const SliceKeys& keys, Inputs inputs) const {
  TORCH_CHECK_VALUE(!members_.empty(), kName, ": expected a metric, see add()");
  TORCH_CHECK_VALUE(columns_ == 0 || keys.columns() == columns_, kName,
                    ": expected keys of ", columns_, " columns, got ",
                    keys.columns());
  for (const InputRef& input : inputs) {
    TORCH_CHECK_VALUE(input.rows() < 0 || input.rows() == keys.size(), kName,
                      ": expected a key for each of ", input.rows(),
                      " rows, got ", keys.size());
  }
}

SlicedMetric::Accumulated SlicedMetric::observe(Inputs inputs,
                                                std::int64_t rows,
                                                Order order) const {
  Accumulated batch;
  batch.rows = rows;
  for (std::size_t i = 0; i < observers_.size(); ++i) {
    internal::OrderedInputs ordered;
    if (order == Order::kUnion) {
      union_.arrange(i, inputs, ordered);
    } else {
      ordered.append(inputs.begin(), inputs.end());
    }
    batch.states.push_back(observer(i).make_batch());
    observer(i).observe_into(batch.states.back(), ordered, BatchOrigin());
  }
  return batch;
}

void SlicedMetric::update_inputs(const SliceKeys& keys, NamedInputs inputs) {
  union_.check_names(kName);
  internal::OrderedInputs ordered;
  input_order_.arrange(
      inputs, union_.inputs(),
      [this](std::size_t i) {
        return i < union_.inputs().size() ? union_.reader_of(i) : kName;
      },
      ordered);
  update_rows(keys, ordered, Order::kUnion);
}

void SlicedMetric::update_inputs(const SliceKeys& keys, Inputs inputs) {
  union_.check_agreement(kName, inputs.size());
  update_rows(keys, inputs, Order::kPositional);
}

void SlicedMetric::update_rows(const SliceKeys& keys, Inputs inputs,
                               Order order) {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  check_keys(keys, inputs);
  std::size_t count = slices_.size();
  for (const std::string& key : keys.keys()) {
    check_known(key);
    if (slices_.count(key) == 0) ++count;
  }
  check_count(count);
  const internal::SortedRows sorted(keys.codes(), keys.keys().size(), inputs);
  Slices batch;
  for (std::size_t code = 0; code < keys.keys().size(); ++code) {
    sorted.use(code, [&](Inputs own, std::int64_t rows) {
      batch.emplace(keys.keys()[code], observe(own, rows, order));
    });
  }
  merge_batch(std::move(batch));
  if (keys.size() > 0) columns_ = keys.columns();
}

void SlicedMetric::merge_batch(Slices batch) {
  Slices fresh;
  std::vector<PendingMerge> merges;
  for (auto& [key, from] : batch) {
    auto into = slices_.find(key);
    if (into == slices_.end()) into = fresh.emplace(key, empty_slice()).first;
    for (std::size_t i = 0; i < observers_.size(); ++i) {
      BatchIntake intake;
      intake.to_cpu = observer(i).metric_options().compute_on_cpu();
      AnyState& state = into->second.states[i];
      merges.emplace_back(state.ops(), state.data(), from.states[i].data(),
                          observer(i).name().c_str(), intake);
    }
  }
  for (PendingMerge& merge : merges) merge.commit();
  slices_.merge(fresh);
  for (const auto& [key, from] : batch) slices_.at(key).rows += from.rows;
}

void SlicedMetric::collect_keys(
    Slices& slices, const std::shared_ptr<sync::Communicator>& ranks) const {
  std::string own;
  for (const auto& [key, slice] : slices) {
    append_number(static_cast<std::int64_t>(key.size()), own);
    own += key;
  }
  at::Tensor bytes =
      at::empty({static_cast<std::int64_t>(own.size())}, at::kByte);
  if (!own.empty()) std::memcpy(bytes.data_ptr(), own.data(), own.size());
  for (const at::Tensor& each :
       sync::gather_all_tensors(bytes, sync::GradientFlow::kDetached, ranks,
                                observer(0).metric_options().sync_timeout())) {
    std::string_view rest(static_cast<const char*>(each.data_ptr()),
                          static_cast<std::size_t>(each.numel()));
    while (!rest.empty()) {
      std::int64_t size = 0;
      std::memcpy(&size, rest.data(), sizeof size);
      rest.remove_prefix(sizeof size);
      const std::string key(rest.substr(0, static_cast<std::size_t>(size)));
      rest.remove_prefix(key.size());
      if (slices.count(key) == 0) slices.emplace(key, empty_slice());
    }
  }
  // The same on every rank.
  check_count(slices.size());
}

void SlicedMetric::merge_ranks(
    Slices& slices, const std::shared_ptr<sync::Communicator>& ranks) const {
  std::vector<sync::internal::SyncItem> items;
  RowCounts counts;
  counts.rows =
      at::zeros({static_cast<std::int64_t>(slices.size())}, at::kLong);
  auto* rows = static_cast<std::int64_t*>(counts.rows.data_ptr());
  std::string all_keys;
  for (const auto& [key, slice] : slices) {
    all_keys += hex(key) + " ";
    *rows++ = slice.rows;
    for (std::size_t i = 0; i < observers_.size(); ++i) {
      items.push_back({observer(i).name() + " of the slice " +
                           words_of(internal::slice_key_of(key)),
                       observer(i).state_key(), slice.states[i],
                       observer(i).make_state()});
    }
  }
  items.push_back(
      {kName, StateKey("SlicedMetric(" + all_keys + ")", typeid(RowCounts)),
       AnyState::of(std::move(counts)), AnyState::of(RowCounts())});
  sync::internal::SyncOptions options;
  options.call = sync::internal::SyncCall::kCompute;
  options.timeout = observer(0).metric_options().sync_timeout();
  auto merged = sync::internal::sync_states(items, ranks, options);
  const auto* total = static_cast<const std::int64_t*>(
      merged.states.back().get<RowCounts>().rows.data_ptr());
  auto next = merged.states.begin();
  for (auto& [key, slice] : slices) {
    slice.rows = *total++;
    for (AnyState& state : slice.states) state = std::move(*next++);
  }
}

std::optional<SlicedMetric::Accumulated> SlicedMetric::fold(
    Slices& slices) const {
  const auto largest = static_cast<std::size_t>(options_.largest());
  if (largest == 0 || slices.size() <= largest) return std::nullopt;
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [key, slice] : slices) order.emplace_back(-slice.rows, key);
  std::sort(order.begin(), order.end());
  std::set<std::string> small;
  for (std::size_t i = largest; i < order.size(); ++i) {
    small.insert(order[i].second);
  }
  Accumulated other = empty_slice();
  for (const std::string& key : small) {
    Accumulated& slice = slices.at(key);
    other.rows += slice.rows;
    for (std::size_t i = 0; i < observers_.size(); ++i) {
      merge(other.states[i], std::move(slice.states[i]),
            observer(i).name().c_str());
    }
    slices.erase(key);
  }
  return other;
}

Slice SlicedMetric::value_of(std::vector<SliceValue> key,
                             const Accumulated& slice) const {
  Slice value;
  value.key = std::move(key);
  value.rows = slice.rows;
  for (const Member& member : members_) {
    Results results;
    member.metric->evaluate_into(slice.states[member.state], "", results);
    for (const auto& [part, result] : results) {
      value.results.add(joined(member.name, part), result,
                        results.dimensions(part));
    }
  }
  return value;
}

SlicedMetric::Slices SlicedMetric::merged() const {
  const MetricOptions& shared = observer(0).metric_options();
  auto ranks = shared.communicator();
  if (!ranks) ranks = sync::default_communicator();
  Slices slices = slices_;
  for (const auto& key : options_.keys()) {
    slices.emplace(internal::slice_key_bytes(key), empty_slice());
  }
  if (ranks->size() > 1 && shared.sync_on_compute()) {
    if (options_.keys().empty()) collect_keys(slices, ranks);
    merge_ranks(slices, ranks);
  }
  return slices;
}

void SlicedMetric::reset() {
  slices_.clear();
  for (auto& given : given_) {
    given = given->fresh();
  }
}

void SlicedMetric::warn(const Slices& slices) const {
  for (std::size_t i = 0; i < observers_.size(); ++i) {
    std::vector<const AnyState*> states;
    for (const auto& [key, slice] : slices) states.push_back(&slice.states[i]);
    const MetricOptions& options = observer(i).metric_options();
    auto ranks = options.communicator();
    if (!ranks) ranks = sync::default_communicator();
    given_[i]->give(observer(i).name(), states, observer(i).remarks(),
                    !options.sync_on_compute() || ranks->rank() == 0);
  }
}

std::vector<Slice> SlicedMetric::compute() {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  TORCH_CHECK_VALUE(!members_.empty(), kName, ": expected a metric, see add()");
  Slices slices = merged();
  warn(slices);
  const std::optional<Accumulated> other = fold(slices);
  std::vector<Slice> values;
  for (const auto& [key, slice] : slices) {
    values.push_back(value_of(internal::slice_key_of(key), slice));
  }
  if (other) values.push_back(value_of({}, *other));
  return values;
}

}  // namespace tally
