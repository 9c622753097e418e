#include "tally/metrics/option_text.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

namespace tally::internal {
namespace {

constexpr const char* kBlanks = " \t\r\n";

/// Behind the quoted text that begins at `begin`; npos if it does not end.
std::size_t skip_quoted(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.npos;
}

bool is_quoted(std::string_view text) {
  return !text.empty() && text[0] == '"' && skip_quoted(text, 0) == text.size();
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

absl::StatusOr<std::size_t> find_outside(std::string_view text,
                                         std::string_view ends,
                                         std::size_t begin) {
  std::string closers;
  for (std::size_t i = begin; i < text.size();) {
    const char c = text[i];
    if (closers.empty() && ends.find(c) != ends.npos) return i;
    if (c == '"') {
      i = skip_quoted(text, i);
      if (i == text.npos) {
        return absl::InvalidArgumentError("expected a closing \"");
      }
      continue;
    }
    if (c == '(' || c == '[' || c == '{') {
      closers.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
      if (closers.empty() || closers.back() != c) {
        return absl::InvalidArgumentError(
            absl::StrCat("expected ", closers.empty() ? "nothing to close" : "",
                         closers.empty() ? "" : std::string(1, closers.back()),
                         ", got ", std::string(1, c)));
      }
      closers.pop_back();
    }
    ++i;
  }
  if (!closers.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a closing ", std::string(1, closers.back())));
  }
  return text.size();
}

absl::StatusOr<std::vector<std::string_view>> split_outside(
    std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = find_outside(text, std::string_view(&separator, 1), begin);
    if (!end.ok()) return end.status();
    const std::string_view part = trimmed(text.substr(begin, *end - begin));
    if (!part.empty() || *end < text.size()) parts.push_back(part);
    begin = *end + 1;
  }
  return parts;
}

std::string quote_text(const std::string& text) {
  const auto end = find_outside(text, ",;");
  if (end.ok() && *end == text.size() && !text.empty() && text.front() != '"' &&
      text.front() != ' ' && text.back() != ' ') {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string unquote_text(std::string_view text) {
  if (!is_quoted(text)) return std::string(text);
  std::string value;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\') ++i;
    value += text[i];
  }
  return value;
}

}  // namespace tally::internal
