#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

/// Texts where numbers are only keys.
namespace tally::internal {

/// The number of a text that is an integer as one writes it: "12", not "012".
std::optional<std::int64_t> integer_of_text(std::string_view text);

/// Its number, or the 64-bit hash XXH64 (seed 0) of a text that has none: the
/// same in every run and on every rank.
std::int64_t text_key(std::string_view text);

}  // namespace tally::internal
