#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tally::cli {

/// The first 40 characters of a value in ASCII, for messages about it.
std::string shown_json(const nlohmann::json& value);

}  // namespace tally::cli
