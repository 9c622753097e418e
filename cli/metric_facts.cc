#include "tally/cli/metric_facts.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <utility>

#include "tally/cli/feeds.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/sampling.h"
#include "tally/metrics/warnings.h"

namespace tally::cli {

std::string inner_option(const MetricEntry& entry) {
  for (const OptionInfo& option : entry.options) {
    if (option.is_metric) return option.name;
  }
  return "";
}

std::optional<std::vector<InputInfo>> read_inputs(const Registry& registry,
                                                  const MetricEntry& entry) {
  std::vector<InputInfo> inputs = registry.inputs(entry.example());
  const bool is_as_metric =
      !inner_option(entry).empty() && !feeds_of(inputs).empty();
  if (is_as_metric) return std::nullopt;
  return inputs;
}

std::vector<NoteKind> notes_of(const Registry& registry,
                               const MetricEntry& entry) {
  std::vector<NoteKind> kinds;
  if (entry.is_wrapper || !entry.make) return kinds;
  const AnyState state = registry.make(entry.example())->make_state();
  for (const auto& each : internal::notes_of(&state)) {
    kinds.push_back(each.note.kind());
  }
  return kinds;
}

std::optional<IntervalWords> interval_words(const Registry& registry,
                                            const MetricEntry& entry) {
  if (entry.is_wrapper || !entry.make) return std::nullopt;
  IntervalWords words;
  const auto names_of = [](const Metric& metric) {
    std::vector<std::string> names;
    for (const IntervalMethod method : interval_methods(metric)) {
      names.push_back(internal::OptionType<IntervalMethod>::print(method));
    }
    return names;
  };
  const auto metric = registry.make(entry.example());
  words.methods = names_of(*metric);
  words.unit = metric->sampling().unit;
  // What makes another kind of value of a metric.
  constexpr std::pair<const char*, const char*> kChoices[] = {
      {"average", "micro"}, {"average", "none"}, {"norm", "l2"}};
  for (const OptionInfo& option : entry.options) {
    for (const auto& [name, value] : kChoices) {
      if (option.name != name ||
          option.expected.find(value) == std::string::npos) {
        continue;
      }
      const std::string choice = c10::str(name, "=", value);
      const std::string required = entry.summary.required;
      const auto other =
          registry.make(c10::str(entry.name, "(", required,
                                 required.empty() ? "" : ", ", choice, ")"));
      std::vector<std::string> more;
      for (const std::string& method : names_of(*other)) {
        if (std::count(words.methods.begin(), words.methods.end(), method) ==
            0) {
          more.push_back(method);
        }
      }
      if (!more.empty()) words.with_option[choice] = std::move(more);
    }
  }
  return words;
}

}  // namespace tally::cli
