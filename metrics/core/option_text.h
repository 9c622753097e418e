#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Parsing of text such as "name=value, other=[1, 2]", where brackets of all
/// kinds and "quoted text" (with \" and \\) are skipped as a whole.
namespace tally::internal {

std::string_view trimmed(std::string_view text);

/// The first of `ends` that is outside brackets and quotes, from `begin`; the
/// text's size if there is none. An error names an unclosed or unmatched
/// bracket or quote.
absl::StatusOr<std::size_t> find_outside(std::string_view text,
                                         std::string_view ends,
                                         std::size_t begin = 0);

/// The parts between separators, without surrounding blanks. The last part may
/// be followed by a separator; blank text has no parts.
absl::StatusOr<std::vector<std::string_view>> split_outside(
    std::string_view text, char separator);

std::string in_quotes(std::string_view text);
/// The text, in quotes if "{text: item}" requires them.
std::string item_name(const std::string& text);
/// The text, in quotes if parsing "name=text, ..." requires them.
std::string quote_text(const std::string& text);
/// The text without its quotes, if it is quoted as a whole.
std::string unquote_text(std::string_view text);

}  // namespace tally::internal
