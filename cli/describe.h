#pragma once

#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/metrics/registry/registry.h"

namespace tally::cli {

/// One line per metric, by domain: its name and description. Only metrics with
/// all of `words` in name, domain or description (case-insensitive) are listed.
/// With kJson, a list of objects. Throws c10::ValueError if no metric matches.
std::string list_metrics(const Registry& registry,
                         const std::vector<std::string>& words = {},
                         Format format = Format::kTable);

/// A metric's options, inputs, range and properties. With kJson, an object;
/// without a name, a list of the objects of all metrics. Throws c10::ValueError
/// for an unknown name, with the closest known one.
std::string describe_metric(const Registry& registry, const std::string& name,
                            Format format = Format::kTable);

/// The completion script for a shell, "bash" or "zsh". Throws c10::ValueError
/// for any other.
std::string completion(const Registry& registry, const std::string& shell);

}  // namespace tally::cli
