#include "tally/metrics/collection.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include "tally/metrics/core/shared_work.h"
#include "tally/metrics/core/sync_options.h"
#include "tally/metrics/progress.h"

namespace tally {
namespace {

constexpr const char* kCollection = MetricCollection::kName;

}  // namespace

MetricCollection::MetricCollection(MetricOptions options)
    : MetricBase(std::move(options)) {}

MetricCollection::MetricCollection(std::initializer_list<Named> metrics,
                                   MetricOptions options)
    : MetricCollection(std::move(options)) {
  for (const Named& named : metrics) {
    add(named.name_, std::move(named.metric_));
  }
}

MetricCollection& MetricCollection::prefix(std::string prefix) {
  prefix_ = std::move(prefix);
  name_results();
  return *this;
}

MetricCollection& MetricCollection::postfix(std::string postfix) {
  postfix_ = std::move(postfix);
  name_results();
  return *this;
}

void MetricCollection::name_results() {
  for (Member& member : members_) {
    member.result = prefix_ + member.name + postfix_;
  }
  accumulation_.invalidate_value();
}

void MetricCollection::check_addable(const std::string& name,
                                     const Metric& metric) const {
  TORCH_CHECK_VALUE(status() == MetricStatus::kEmpty, "expected metrics to be ",
                    "added before the first update, got '", name,
                    "' afterwards");
  TORCH_CHECK_VALUE(!name.empty(), "expected a name for ", metric.repr(),
                    ", got an empty one");
  TORCH_CHECK_VALUE(!contains(name), "expected one metric of each name, got '",
                    name, "' twice");
  TORCH_CHECK_VALUE(metric.status() == MetricStatus::kEmpty,
                    "expected a metric that has accumulated nothing as '", name,
                    "', got one whose update_count is ", metric.update_count());
  TORCH_CHECK_VALUE(!internal::has_sync_options(metric.metric_options()),
                    "expected '", name,
                    "' without options for syncing and caching; give "
                    "them to the collection");
}

void MetricCollection::add(std::string name, std::unique_ptr<Metric> metric) {
  const Use use(accumulation_);
  TORCH_CHECK_VALUE(metric, "expected a metric as '", name, "', got null");
  check_addable(name, *metric);
  add_member(std::move(name), std::move(metric));
}

void MetricCollection::add_member(std::string name,
                                  std::unique_ptr<Metric> metric) {
  std::string result = prefix_ + name + postfix_;
  StateKey source_key = metric->source_key();
  members_.push_back({std::move(name), std::move(result), std::move(metric),
                      std::move(source_key), 0, kNone, kNone});
  regroup();
}

std::string MetricCollection::label_of(const Member& member) {
  return member.name.empty() ? member.metric->name() : member.name;
}

void MetricCollection::regroup() {
  using ByKey = std::map<std::reference_wrapper<const StateKey>, std::size_t,
                         std::less<StateKey>>;
  ByKey owners;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    owners.emplace(members_[i].metric->state_key(), i);
  }
  ByKey group_of, derived_of;
  accumulation_.clear_columns();
  auto& columns = accumulation_.columns();
  observers_.clear();
  for (Member& member : members_) {
    const StateKey& own_key = member.metric->state_key();
    const bool derives = owners.count(member.source_key) != 0;
    const StateKey& key = derives ? member.source_key : own_key;
    const auto [found, is_new] = group_of.emplace(key, columns.size());
    member.group = found->second;
    member.derived =
        derives ? derived_of.emplace(own_key, derived_of.size()).first->second
                : kNone;
    if (is_new) {
      observers_.push_back(owners.at(key));
      const Metric& owner = *members_[observers_.back()].metric;
      accumulation_.add_column(
          {label_of(member), key, owner.make_state(), owner.keeps_on_cpu()});
    } else {
      columns[member.group].label += "+" + label_of(member);
    }
    accumulation_.add_remarks(member.group, member.metric->remarks());
  }
  for (Member& member : members_) {
    AnyState kept = member.metric->make_kept();
    member.kept = kept.defined() ? columns.size() : kNone;
    if (!kept.defined()) continue;
    accumulation_.add_column(
        {label_of(member) + ".computed",
         internal::kKeptColumn + member.metric->state_key(), std::move(kept),
         /*on_cpu=*/false,
         /*survives_reset=*/true});
  }
  derived_count_ = derived_of.size();
  std::vector<internal::InputUnion::Reader> readers;
  for (const std::size_t observer : observers_) {
    const Member& member = members_[observer];
    readers.push_back({member.name.empty()
                           ? member.metric->name()
                           : member.metric->name() + " ('" + member.name + "')",
                       member.metric->inputs(),
                       member.metric->positional_inputs()});
  }
  union_ = internal::InputUnion(std::move(readers));
  input_order_.forget();
  accumulation_.invalidate_value();
}

void MetricCollection::add(const std::string& name, MetricCollection&& nested) {
  TORCH_CHECK_VALUE(!name.empty(),
                    "expected a name for a collection, got an empty one");
  TORCH_CHECK_VALUE(nested.status() == MetricStatus::kEmpty,
                    "expected a collection that has accumulated nothing as '",
                    name, "', got one whose update_count is ",
                    nested.update_count());
  TORCH_CHECK_VALUE(!internal::has_sync_options(nested.metric_options()),
                    "expected '", name,
                    "' without options for syncing and caching; give "
                    "them to the outer collection");
  const auto full = [&](const Member& member) {
    return name + "." + nested.prefix_ + member.name + nested.postfix_;
  };
  for (const Member& member : nested.members_) {
    check_addable(full(member), *member.metric);
  }
  for (Member& member : nested.members_) {
    add(full(member), std::move(member.metric));
  }
  nested = MetricCollection();
}

/// The states of members, each derived once.
class MetricCollection::DerivedStates {
 public:
  explicit DerivedStates(std::size_t count) : states_(count) {}

  /// `state` is that of the member's column.
  const AnyState& of(const Member& member, const AnyState& state) {
    if (member.derived == kNone) return state;
    AnyState& own = states_[member.derived];
    if (!own.defined()) own = member.metric->derive(state);
    return own;
  }

 private:
  std::vector<AnyState> states_;
};

template <class InputsOf>
std::vector<AnyState> MetricCollection::observe(
    const BatchOrigin& origin, const InputsOf& inputs_of) const {
  const internal::SharedWork work;
  std::vector<AnyState> batch;
  batch.reserve(observers_.size());
  for (std::size_t g = 0; g < observers_.size(); ++g) {
    const Member& member = members_[observers_[g]];
    batch.push_back(member.metric->make_batch());
    try {
      member.metric->observe_into(batch.back(), inputs_of(g), origin);
    } catch (c10::Error& error) {
      if (!member.name.empty()) {
        error.add_context("as '" + member.name + "' of a collection");
      }
      throw;
    }
  }
  return batch;
}

std::vector<AnyState> MetricCollection::observe_same(
    Inputs inputs, const BatchOrigin& origin) const {
  return observe(origin, [&](std::size_t) { return inputs; });
}

std::vector<AnyState> MetricCollection::observe_positional(
    Inputs inputs) const {
  union_.check_agreement(kCollection, inputs.size());
  return observe_same(inputs, BatchOrigin(accumulation_));
}

void MetricCollection::arrange(NamedInputs given, const char* owner,
                               internal::OrderedInputs& ordered) {
  union_.check_names(owner);
  input_order_.arrange(
      given, inputs(),
      [&](std::size_t i) {
        return i < inputs().size() ? union_.reader_of(i) : owner;
      },
      ordered);
}

std::vector<AnyState> MetricCollection::observe_named(NamedInputs given) {
  internal::OrderedInputs ordered;
  arrange(given, kCollection, ordered);
  return observe_union(ordered, BatchOrigin(accumulation_));
}

std::vector<AnyState> MetricCollection::observe_union(
    Inputs inputs, const BatchOrigin& origin) const {
  internal::OrderedInputs own;
  return observe(origin, [&](std::size_t group) -> Inputs {
    own.clear();
    union_.arrange(group, inputs, own);
    return own;
  });
}

Results MetricCollection::evaluate(StateOf state_of) const {
  Results results;
  results.reserve(members_.size());
  DerivedStates derived(derived_count_);
  for (const Member& member : members_) {
    member.metric->evaluate_into(derived.of(member, state_of(member.group)),
                                 member.result, results);
  }
  return results;
}

Results MetricCollection::evaluate(const std::vector<AnyState>& states) const {
  return evaluate([&](std::size_t c) -> const AnyState& { return states[c]; });
}

Results MetricCollection::compute_states(
    StateOf state_of,
    c10::function_ref<AnyState&(std::size_t column)> kept_of) const {
  Results results;
  results.reserve(members_.size());
  DerivedStates derived(derived_count_);
  const auto all = static_cast<std::int64_t>(members_.size());
  std::int64_t done = 0;
  for (const Member& member : members_) {
    const AnyState& state = derived.of(member, state_of(member.group));
    if (member.kept == kNone) {
      member.metric->evaluate_into(state, member.result, results);
    } else {
      member.metric->compute_into(state, kept_of(member.kept), member.result,
                                  results);
    }
    report_progress("metrics", ++done, all);
  }
  return results;
}

Results MetricCollection::compute_row(internal::StateRows& rows,
                                      std::size_t row) const {
  return compute_states(
      [&](std::size_t c) -> const AnyState& { return rows.state(row, c); },
      [&](std::size_t c) -> AnyState& { return rows.kept(row, c); });
}

void MetricCollection::update_inputs(Inputs given) {
  update_by(given, [&] { return observe_positional(given); });
}

void MetricCollection::update_inputs(NamedInputs given) {
  update_by(given, [&] { return observe_named(given); });
}

Results MetricCollection::forward_inputs(Inputs given) {
  return forward_by(
      given, /*is_differentiable=*/true,
      [&] { return observe_positional(given); },
      [&](const std::vector<AnyState>& batch) { return evaluate(batch); });
}

Results MetricCollection::forward_inputs(NamedInputs given) {
  return forward_by(
      given, /*is_differentiable=*/true, [&] { return observe_named(given); },
      [&](const std::vector<AnyState>& batch) { return evaluate(batch); });
}

Results MetricCollection::compute() {
  return compute_by(
      value_, [&](internal::StateRows& rows) { return compute_row(rows, 0); },
      [](Results&) {});
}

PendingValue<Results> MetricCollection::sync_async() {
  return sync_async_by<Results>([&] {
    return [snapshot = std::make_shared<const MetricCollection>(clone())](
               internal::StateRows& rows) {
      return snapshot->compute_row(rows, 0);
    };
  });
}

void MetricCollection::merge_state(const MetricCollection& other) {
  merge_from(other);
}

void MetricCollection::set_metric_options(MetricOptions options) {
  const Use use(accumulation_);
  accumulation_.set_options(std::move(options));
}

void MetricCollection::set_dtype(at::ScalarType dtype) {
  const Use use(accumulation_);
  for (Member& member : members_) member.metric->set_dtype(dtype);
  accumulation_.invalidate_value();
}

MetricCollection MetricCollection::clone() const {
  MetricCollection copy(metric_options());
  copy.prefix_ = prefix_;
  copy.postfix_ = postfix_;
  for (const Member& member : members_) {
    copy.members_.push_back({member.name, member.result, member.metric->clone(),
                             member.source_key, 0, kNone, kNone});
  }
  copy.regroup();
  copy.accumulation_.copy_state(accumulation_);
  return copy;
}

std::vector<std::string> MetricCollection::names() const {
  std::vector<std::string> names;
  for (const Member& member : members_) names.push_back(member.name);
  return names;
}

bool MetricCollection::contains(const std::string& name) const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const Member& m) { return m.name == name; });
}

const MetricCollection::Member& MetricCollection::member(
    const std::string& name) const {
  for (const Member& each : members_) {
    if (each.name == name) return each;
  }
  TORCH_CHECK_INDEX(false, "unknown metric '", name, "'; there are: ",
                    members_.empty() ? "none" : c10::Join(", ", names()));
}

const Metric& MetricCollection::operator[](const std::string& name) const {
  return *member(name).metric;
}

std::unique_ptr<Metric> MetricCollection::extract(
    const std::string& name) const {
  const Member& from = member(name);
  const Reading reading(accumulation_);
  const internal::StateCell& cell = accumulation_.cell(0, from.group);
  const internal::OutsideInference outside;
  auto metric = from.metric->clone();
  internal::StoredRows rows = accumulation_.stored(/*with_values=*/false);
  rows.cells = {{DerivedStates(derived_count_).of(from, cell.local), cell.count,
                 cell.index_offset}};
  if (from.kept != kNone) {
    rows.cells.push_back({accumulation_.cell(0, from.kept).local});
  }
  metric->accumulation_.take(std::move(rows));
  return metric;
}

std::vector<std::vector<std::string>> MetricCollection::groups() const {
  std::vector<std::vector<std::string>> groups(observers_.size());
  for (const Member& member : members_) {
    groups[member.group].push_back(member.name);
  }
  return groups;
}

}  // namespace tally
