#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tally/metrics/results.h"

namespace tally::cli {

/// On one line; what is not UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& value);
/// An object of these numbers and, behind them, the members of another.
std::string json_object(const Results& numbers,
                        const nlohmann::ordered_json& rest);

}  // namespace tally::cli
