#pragma once

#include <string>

#include "tally/metrics/registry/registry.h"

namespace tally::cli {

/// A line for each metric: its name and what it is.
std::string list_metrics(const Registry& registry);

/// All that there is to know about a metric. Throws c10::ValueError for an
/// unknown name, with the nearest one.
std::string describe_metric(const Registry& registry, const std::string& name);

}  // namespace tally::cli
