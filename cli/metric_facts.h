#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tally/metrics/registry/registry.h"
#include "tally/state/note.h"

namespace tally::cli {

/// The option that holds the wrapped metric; empty for other metrics.
std::string inner_option(const MetricEntry& entry);

/// The inputs that say from which files a metric is read; null for a wrapper
/// that is read from those of its metric.
std::optional<std::vector<InputInfo>> read_inputs(const Registry& registry,
                                                  const MetricEntry& entry);

/// What it may warn about; a wrapper of what its metric warns about.
std::vector<NoteKind> notes_of(const Registry& registry,
                               const MetricEntry& entry);

/// How intervals are made: the method that is chosen, and others; and those
/// that other values of an option add, such as "average=micro".
struct IntervalWords {
  std::vector<std::string> methods;
  std::map<std::string, std::vector<std::string>> with_option;
  std::string unit;
};
std::optional<IntervalWords> interval_words(const Registry& registry,
                                            const MetricEntry& entry);

}  // namespace tally::cli
