#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tally::internal {

/// The number that the whole text is, in any locale; nothing for another text,
/// or a number that Number cannot hold.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace tally::internal
