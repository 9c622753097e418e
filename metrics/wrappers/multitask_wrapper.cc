#include "tally/metrics/wrappers/multitask_wrapper.h"

#include <algorithm>
#include <optional>

#include "tally/metrics/core/metric_traits.h"
#include "tally/metrics/core/option_text.h"
#include "tally/state/joined.h"
#include "tally/state/state_parts.h"

namespace tally {
namespace {

std::optional<std::map<std::string, InputRef>> refs_of(const InputRef& input) {
  std::map<std::string, InputRef> refs;
  if (const auto* tensors = input.as<TaskInputs>()) {
    for (const auto& [task, tensor] : *tensors) {
      refs.emplace(task, InputRef::of(tensor));
    }
    return refs;
  }
  if (const auto* values = input.as<TaskValues>()) {
    for (const auto& [task, value] : *values) refs.emplace(task, value.ref());
    return refs;
  }
  return std::nullopt;
}

}  // namespace

MultitaskWrapper::MultitaskWrapper(Options options,
                                   MetricOptions metric_options)
    : WrapperMetric(std::move(metric_options)), options_(std::move(options)) {
  remake_state();
}

std::vector<std::string> MultitaskWrapper::tasks() const {
  std::vector<std::string> names;
  for (const Task& task : tasks_) names.push_back(task.name);
  return names;
}

std::string MultitaskWrapper::new_name(const std::string& task) const {
  TORCH_CHECK_VALUE(status() == MetricStatus::kEmpty, kName,
                    ": expected tasks to be added before the first update, ",
                    "got '", task, "' afterwards");
  TORCH_CHECK_VALUE(!task.empty(), kName,
                    ": expected a name for a task, got an empty one");
  for (const Task& known : tasks_) {
    TORCH_CHECK_VALUE(known.name != task, kName,
                      ": expected one task of each name, got '", task,
                      "' twice");
  }
  return options_.prefix() + task + options_.postfix();
}

void MultitaskWrapper::add(const std::string& task, OwnedMetric metric) {
  const Use use(accumulation_);
  MetricCollection one;
  one.add(new_name(task), metric.take(kName));
  tasks_.push_back({task, std::move(one)});
  remake_state();
}

void MultitaskWrapper::add(const std::string& task,
                           MetricCollection&& metrics) {
  const Use use(accumulation_);
  MetricCollection named;
  named.add(new_name(task), std::move(metrics));
  tasks_.push_back({task, std::move(named)});
  remake_state();
}

template <class Visit>
void MultitaskWrapper::for_each_column(bool kept, const Visit& visit) const {
  for (const Task& task : tasks_) {
    const auto& columns = task.metrics.accumulation_.columns();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].survives_reset != kept) continue;
      visit(
          columns.size() == 1 ? task.name : task.name + "." + std::to_string(i),
          columns[i]);
    }
  }
}

AnyState MultitaskWrapper::parts_of(bool kept) const {
  std::vector<std::pair<std::string, AnyState>> parts;
  for_each_column(kept, [&](std::string name, const auto& column) {
    parts.emplace_back(std::move(name), column.identity);
  });
  if (kept && parts.empty()) return {};
  return AnyState::of(StateParts(std::move(parts)));
}

AnyState MultitaskWrapper::make_kept() const { return parts_of(true); }

void MultitaskWrapper::remake_state() {
  StateKey key = std::string(kName) + "(";
  for (const Task& task : tasks_) {
    key += task.name + ": ";
    for (const auto& column : task.metrics.accumulation_.columns()) {
      key += column.key + "; ";
    }
  }
  accumulation_.clear_columns();
  accumulation_.add_column({kName, key + ")", parts_of(false), keeps_on_cpu()});
  for_each_column(false, [&](const std::string&, const auto& column) {
    accumulation_.add_remarks(0, column.remarks);
  });
  if (AnyState kept = make_kept(); kept.defined()) {
    accumulation_.add_column({std::string(kName) + ".computed",
                              internal::kKeptColumn + key, std::move(kept),
                              /*on_cpu=*/false, /*survives_reset=*/true});
  }
  accumulation_.invalidate_value();
  std::vector<internal::InputUnion::Reader> readers;
  for (const Task& task : tasks_) {
    readers.push_back({"task '" + task.name + "'", task.metrics.inputs(),
                       task.metrics.positional_inputs()});
  }
  union_ = internal::InputUnion(std::move(readers));
  inputs_ = union_.inputs().vec();
  for (InputInfo& input : inputs_) input.kind = InputKind::kTasks;
  input_order_.forget();
}

bool MultitaskWrapper::keeps_on_cpu() const {
  bool any = metric_options().compute_on_cpu();
  for_each_column(false, [&](const std::string&, const auto& column) {
    any = any || column.on_cpu;
  });
  return any;
}

std::unique_ptr<Metric> MultitaskWrapper::clone() const {
  auto copy = std::make_unique<MultitaskWrapper>(options_, metric_options());
  for (const Task& task : tasks_) {
    copy->tasks_.push_back({task.name, task.metrics.clone()});
  }
  copy->remake_state();
  copy->accumulation_.copy_state(accumulation_);
  copy->dtype_ = dtype_;
  return copy;
}

std::string MultitaskWrapper::text_by(std::string (Metric::*of_metric)()
                                          const) const {
  const auto of_task = [&](const Task& task) {
    const auto& members = task.metrics.members_;
    const std::string prefix =
        options_.prefix() + task.name + options_.postfix() + ".";
    if (members.size() == 1 &&
        members[0].name.compare(0, prefix.size(), prefix) != 0) {
      return internal::item_name(task.name) + ": " +
             ((*members[0].metric).*of_metric)();
    }
    const auto of_member = [&](const auto& member) {
      return internal::item_name(member.name.substr(prefix.size())) + ": " +
             ((*member.metric).*of_metric)();
    };
    return internal::item_name(task.name) + ": {" +
           internal::joined(", ", members, of_member) + "}";
  };
  return std::string(kName) + "(tasks={" +
         internal::joined(", ", tasks_, of_task) + "}, " +
         options_repr(options_) + ")";
}

bool MultitaskWrapper::is_differentiable() const {
  return std::all_of(tasks_.begin(), tasks_.end(), [](const Task& task) {
    const auto& members = task.metrics.members_;
    return std::all_of(members.begin(), members.end(), [](const auto& member) {
      return member.metric->is_differentiable();
    });
  });
}

void MultitaskWrapper::set_metric_options(MetricOptions options) {
  const Use use(accumulation_);
  accumulation_.set_options(std::move(options));
  accumulation_.column().on_cpu = keeps_on_cpu();
}

// A task need not take an input that others take at its position.
std::size_t MultitaskWrapper::positional_inputs() const {
  return inputs_.empty() ? union_.agreed()
                         : std::min(union_.agreed(), inputs_.size());
}

bool MultitaskWrapper::takes(std::size_t task, std::size_t index) const {
  if (inputs_.empty()) return true;
  const auto& places = union_.places(task);
  return std::find(places.begin(), places.end(), index) != places.end();
}

void MultitaskWrapper::check_tasks(const TaskRefs& input,
                                   std::size_t index) const {
  std::string known;
  std::size_t expected = 0;
  bool same = true;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    if (!takes(t, index)) continue;
    ++expected;
    known += (known.empty() ? "" : ", ") + tasks_[t].name;
    same = same && input.count(tasks_[t].name) != 0;
  }
  if (same && input.size() == expected) return;
  const std::string got = internal::joined(
      ", ", input, [](const auto& each) { return each.first; });
  TORCH_CHECK_VALUE(false, kName, ": expected ",
                    index < inputs_.size() ? inputs_[index].name
                                           : "input " + std::to_string(index),
                    " of the tasks ", known, ", got ",
                    got.empty() ? "none" : got);
}

void MultitaskWrapper::observe_into(AnyState& fresh, Inputs inputs,
                                    const BatchOrigin& origin) const {
  TORCH_CHECK_VALUE(!tasks_.empty(), kName,
                    ": expected a task before the first update");
  std::vector<std::optional<TaskRefs>> maps;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    maps.push_back(refs_of(inputs[i]));
    const bool left_out =
        inputs[i].is_none() && i < inputs_.size() && inputs_[i].is_optional;
    if (left_out) continue;
    if (!maps.back()) {
      internal::refuse_input_type(kName, i, inputs_, typeid(TaskInputs),
                                  inputs[i].type());
    }
    check_tasks(*maps.back(), i);
  }
  auto& parts = fresh.get<StateParts>().parts();
  std::size_t next = 0;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    const Task& task = tasks_[t];
    internal::OrderedInputs all, own;
    for (std::size_t i = 0; i < maps.size(); ++i) {
      all.push_back(maps[i] && takes(t, i) ? maps[i]->at(task.name)
                                           : InputRef::none());
    }
    union_.arrange(t, all, own);
    try {
      for (AnyState& state : task.metrics.observe_union(own, origin)) {
        parts[next++] = std::move(state);
      }
    } catch (c10::Error& error) {
      error.add_context("as task '" + task.name + "'");
      throw;
    }
  }
}

void MultitaskWrapper::compute_into(const AnyState& state, AnyState& kept,
                                    const std::string& name,
                                    Results& results) const {
  Results all;
  const AnyState* next = state.get<StateParts>().parts().data();
  AnyState* next_kept =
      kept.defined() ? kept.get<StateParts>().parts().data() : nullptr;
  for (const Task& task : tasks_) {
    // Those that survive a reset come last in a collection.
    std::size_t states = 0;
    for (const auto& column : task.metrics.accumulation_.columns()) {
      states += column.survives_reset ? 0 : 1;
    }
    const Results own = task.metrics.compute_states(
        [&](std::size_t c) -> const AnyState& { return next[c]; },
        [&](std::size_t c) -> AnyState& { return next_kept[c - states]; });
    for (const auto& [result, value] : own) {
      all.add(result, value, own.dimensions(result));
    }
    next += states;
    if (next_kept != nullptr) {
      next_kept += task.metrics.accumulation_.columns().size() - states;
    }
  }
  add_results(std::move(all), name, results);
}

}  // namespace tally
