#pragma once

#include <map>
#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/losses/registry/loss_registry.h"
#include "tally/metrics/registry/registry.h"

namespace tally::cli {

using Losses = std::map<std::string, losses::LossEntry>;

/// One line per metric, by domain, and per loss: its name and description. With
/// `words`, what find_metrics() finds, the best first, and expressions of
/// metrics. With kJson, a list of objects. Throws c10::ValueError if nothing
/// matches.
std::string list_metrics(const Registry& registry,
                         const std::vector<std::string>& words = {},
                         Format format = Format::kTable,
                         const Losses& losses = {});

/// A metric's or a loss's options, inputs and properties. With kJson, an
/// object; without a name, a list of the objects of all. Throws c10::ValueError
/// for an unknown name, with the closest known one.
std::string describe_metric(const Registry& registry, const std::string& name,
                            Format format = Format::kTable,
                            const Losses& losses = {});

}  // namespace tally::cli
