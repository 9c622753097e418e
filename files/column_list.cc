#include "tally/files/column_list.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/files/file_kind.h"
#include "tally/files/input_file.h"
#include "tally/metrics/common/did_you_mean.h"

namespace tally::files {
namespace {

constexpr const char* kColumns = "--columns";

bool is_known(const std::vector<std::string>& all, const std::string& name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// Behind the quote that closes the one at the front; npos if there is none.
std::size_t quoted_size(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    if (at + 1 == text.size() || text[at + 1] != '"') return at + 1;
    ++at;
  }
  return text.npos;
}

/// Quoted as a shell and --columns read it.
std::string in_quotes(const std::string& name) {
  std::string text = "'\"";
  for (const char c : shown_text(name)) {
    text += c == '"' ? "\"\"" : std::string(1, c);
  }
  return text + "\"'";
}

/// What is behind a colon, or the only name.
std::string last_name(const std::string& text) {
  TORCH_CHECK_VALUE(
      text.empty() || text[0] != '"' || quoted_size(text) == text.size(),
      kColumns, ": expected a comma or colon after a name in quotes, got '",
      shown_text(text), "'");
  return unquoted(text);
}

ColumnItem parse_item(std::string item, const std::vector<std::string>& known) {
  ColumnItem parsed;
  if (!is_known(known, item)) parsed.input = take_input_name(item);
  parsed.is_quoted = !item.empty() && item[0] == '"';
  const std::size_t colon =
      parsed.is_quoted ? quoted_size(item) : item.find(':');
  parsed.is_range = colon < item.size() && item[colon] == ':' &&
                    (parsed.is_quoted || !is_known(known, item));
  if (!parsed.is_range) {
    parsed.first = last_name(item);
    return parsed;
  }
  parsed.first = unquoted(item.substr(0, colon));
  parsed.last = last_name(item.substr(colon + 1));
  return parsed;
}

}  // namespace

std::vector<std::string> split_list(const std::string& option,
                                    std::string_view text) {
  std::vector<std::string> items;
  std::size_t begin = 0;
  bool may_open = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' && may_open) {
      const std::size_t size = quoted_size(text.substr(at));
      TORCH_CHECK_VALUE(size != text.npos, option,
                        ": expected a closing \" in '", shown_text(text), "'");
      at += size - 1;
      may_open = false;
      continue;
    }
    if (c == ',') {
      items.emplace_back(text.substr(begin, at - begin));
      begin = at + 1;
    }
    may_open = c == ',' || c == '=' || c == ':';
  }
  if (begin < text.size()) items.emplace_back(text.substr(begin));
  return items;
}

std::string unquoted(std::string item) {
  if (item.empty() || item[0] != '"' || quoted_size(item) != item.size()) {
    return item;
  }
  std::string text;
  for (std::size_t at = 1; at + 1 < item.size(); ++at) {
    text += item[at];
    if (item[at] == '"') ++at;
  }
  return text;
}

std::vector<ColumnItem> parse_columns(const std::string& columns,
                                      const std::vector<std::string>& known) {
  std::vector<ColumnItem> items;
  std::size_t named = 0;
  for (std::string& item : split_list(kColumns, columns)) {
    items.push_back(parse_item(std::move(item), known));
    named += items.back().input.empty() ? 0 : 1;
  }
  TORCH_CHECK_VALUE(named == 0 || named == items.size(), kColumns,
                    ": expected names for all inputs or for none, got '",
                    columns, "'");
  return items;
}

std::string column_hint(const std::string& name,
                        const std::vector<std::string>& known) {
  for (const std::string& other : known) {
    const bool is_cut =
        other.size() > name.size() && !name.empty() &&
        other.compare(0, name.size(), name) == 0 &&
        (other[name.size()] == ',' || other[name.size()] == ':');
    if (!is_cut) continue;
    return "; a name with a comma or colon is written in quotes, " +
           in_quotes(other);
  }
  return internal::did_you_mean(name, known);
}

}  // namespace tally::files
