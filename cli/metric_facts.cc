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
  for (const OptionInfo& option : entry.options) {
    if (option.name != "average") continue;
    for (const char* average : {"micro", "none"}) {
      if (option.expected.find(average) == std::string::npos) continue;
      const std::string required = entry.summary.required;
      const auto other = registry.make(c10::str(entry.name, "(", required,
                                                required.empty() ? "" : ", ",
                                                "average=", average, ")"));
      std::vector<std::string> more;
      for (const std::string& name : names_of(*other)) {
        if (std::count(words.methods.begin(), words.methods.end(), name) == 0) {
          more.push_back(name);
        }
      }
      if (!more.empty()) words.with_average[average] = std::move(more);
    }
  }
  return words;
}

}  // namespace tally::cli
