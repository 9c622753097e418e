#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tally::files {

/// An item of --columns: the columns or keys of an input.
struct ColumnItem {
  std::string input;  ///< its name; empty by position
  std::string first;
  std::string last = {};  ///< of several, "first:last"
  bool is_range = false;
  bool is_quoted = false;

  /// As messages show it: "first:last".
  std::string text() const { return is_range ? first + ":" + last : first; }
};

/// The items of a list with commas between; what is "in quotes", as in CSV
/// files, may contain commas, and "" for a quote. Throws c10::ValueError that
/// begins with the option, if quotes do not fit.
std::vector<std::string> split_list(const std::string& option,
                                    std::string_view text);
/// An item without its quotes, if it has them.
std::string unquoted(std::string item);

/// The items of --columns. `known` are the names that columns have, which may
/// contain colons and equals signs; those with commas are "in quotes". Throws
/// c10::ValueError if quotes do not fit, and unless all or none name an input.
std::vector<ColumnItem> parse_columns(const std::string& columns,
                                      const std::vector<std::string>& known);

/// "; did you mean 'a'?", or how to write a name with a comma or colon of which
/// `name` is a part.
std::string column_hint(const std::string& name,
                        const std::vector<std::string>& known);

}  // namespace tally::files
