#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Text such as "name=value, other=[1, 2]", in which brackets of all kinds and
/// "quoted text" (with \" and \\) are passed over as a whole.
namespace tally::internal {

std::string_view trimmed(std::string_view text);

/// The first of `ends` that is outside brackets and quotes, from `begin`; the
/// text's size if there is none. An error says what is left open, or closes
/// nothing.
absl::StatusOr<std::size_t> find_outside(std::string_view text,
                                         std::string_view ends,
                                         std::size_t begin = 0);

/// What stands between separators, without blanks around it. The last part may
/// be followed by a separator; blank text has no parts.
absl::StatusOr<std::vector<std::string_view>> split_outside(
    std::string_view text, char separator);

/// The text in quotes, if a reader of "name=text, ..." needs them.
std::string quote_text(const std::string& text);
/// Without the quotes of a text that is quoted as a whole.
std::string unquote_text(std::string_view text);

}  // namespace tally::internal
