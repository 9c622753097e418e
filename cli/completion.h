#pragma once

#include <string>

#include "tally/cli/describe.h"
#include "tally/metrics/registry/registry.h"

namespace tally::cli {

/// The completion script for a shell, "bash" or "zsh". Throws c10::ValueError
/// for any other.
std::string completion(const Registry& registry, const std::string& shell,
                       const Losses& losses = {});

}  // namespace tally::cli
