#pragma once

#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/metrics/registry/registry.h"

namespace tally::cli {

/// A line for each metric, by domain: its name and what it is; of those that
/// have all these words in name, domain or description, whatever their case.
/// With kJson a list of objects. Throws c10::ValueError if there is none.
std::string list_metrics(const Registry& registry,
                         const std::vector<std::string>& words = {},
                         Format format = Format::kTable);

/// All that there is to know about a metric. Throws c10::ValueError for an
/// unknown name, with the nearest one.
std::string describe_metric(const Registry& registry, const std::string& name);

/// What a shell has to read to complete the program's words: "bash" or "zsh".
/// Throws c10::ValueError for another.
std::string completion(const Registry& registry, const std::string& shell);

}  // namespace tally::cli
