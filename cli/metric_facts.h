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

/// How intervals are made: the method that is chosen, and others; and those of
/// each class, or of all together, where averages have none of these.
struct IntervalWords {
  std::vector<std::string> methods;
  std::map<std::string, std::vector<std::string>> with_average;
  std::string unit;
};
std::optional<IntervalWords> interval_words(const Registry& registry,
                                            const MetricEntry& entry);

}  // namespace tally::cli
