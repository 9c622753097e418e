#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tally/metrics/results.h"

namespace tally::files {

using Json = nlohmann::json;

/// On one line; what is not UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& value);
/// An object of these numbers and, behind them, the members of another.
std::string json_object(const Results& numbers,
                        const nlohmann::ordered_json& rest);

/// The first 40 characters of a value in ASCII, for messages about it.
std::string shown_json(const Json& value);

/// A line with null for NaN, which Python's json writes though JSON does not
/// have it.
std::string without_nan(const std::string& line);

/// The value in a line; discarded if it is not valid.
Json parse_json(const std::string& line);

/// Whether it is an integer of at most 64 bits.
bool is_integer(const Json& value);

/// Whether it can be an id: an integer or a text.
bool is_id(const Json& value);

/// An id as it is in a column of a CSV file.
std::string id_of(const Json& value);

}  // namespace tally::files
