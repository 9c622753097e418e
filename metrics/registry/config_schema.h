#pragma once

#include <string>

#include "tally/metrics/registry/registry.h"

namespace tally {

/// The JSON schema (2020-12) of what parse_collection_config() reads, with each
/// metric's options and what they do: an editor that knows it completes and
/// checks a configuration. `tally describe --format json-schema` prints it.
std::string collection_config_schema(
    const Registry& registry = builtin_registry());

}  // namespace tally
