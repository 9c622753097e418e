#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "tally/files/csv.h"
#include "tally/files/file_kind.h"
#include "tally/metrics/common/did_you_mean.h"
#include "tally/state/parse_number.h"

namespace tally::files {
namespace {

std::optional<std::size_t> to_place(const std::string& name) {
  if (name.empty() || name[0] != '@') return std::nullopt;
  const auto number =
      internal::parse_number<std::int64_t>(std::string_view(name).substr(1));
  if (!number || *number < 1) return std::nullopt;
  return static_cast<std::size_t>(*number);
}

}  // namespace

void CsvFile::find_columns(const std::string& columns) {
  if (columns.empty()) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      add_input(names_[i], i, i);
    }
    return;
  }
  std::istringstream items(columns);
  for (std::string item; std::getline(items, item, ',');) {
    const bool is_column =
        std::find(names_.begin(), names_.end(), item) != names_.end();
    const std::string name = is_column ? "" : take_input_name(item);
    if (!name.empty()) input_names_.push_back(name);
    if (inputs_.empty()) has_names_ = item.empty() || item[0] != '@';
    const std::size_t colon = item.find(':');
    const bool is_name =
        std::find(names_.begin(), names_.end(), item) != names_.end();
    if (colon == item.npos || (has_names_ && is_name)) {
      const std::size_t column = find_column(item);
      add_input(item, column, column);
      continue;
    }
    const std::size_t first = find_column(item.substr(0, colon));
    const std::size_t last = find_column(item.substr(colon + 1));
    TORCH_CHECK_VALUE(first <= last, paths_[0], ": columns ", item,
                      ": expected the first before the last");
    add_input(item, first, last);
    widths_.back() = last - first + 1;
  }
  TORCH_CHECK_VALUE(
      input_names_.empty() || input_names_.size() == inputs_.size(),
      "--columns: expected names for all inputs or for none, got '", columns,
      "'");
}

void CsvFile::choose(
    const std::vector<std::pair<std::string, std::size_t>>& columns) {
  inputs_.clear();
  input_names_.clear();
  widths_.clear();
  uses_.assign(uses_.size(), {});
  for (const auto& [input, column] : columns) {
    input_names_.push_back(input);
    add_input(names_.at(column), column, column);
  }
}

void CsvFile::add_keys(const std::vector<std::string>& columns) {
  for (const std::string& name : columns) {
    const std::size_t column = find_column(name);
    add_input(name, column, column);
  }
}

std::size_t CsvFile::find_column(const std::string& name) {
  if (!has_names_) {
    const auto number = to_place(name);
    TORCH_CHECK_VALUE(number && *number <= names_.size(), paths_[0],
                      ": expected columns from @1 to @", names_.size(),
                      ", got '", name, "'");
    return *number - 1;
  }
  const auto found = std::find(names_.begin(), names_.end(), name);
  TORCH_CHECK_VALUE(found != names_.end(), paths_[0], ": no column '", name,
                    "'", internal::did_you_mean(name, names_));
  TORCH_CHECK_VALUE(std::find(found + 1, names_.end(), name) == names_.end(),
                    paths_[0], ": more than one column '", name, "'");
  return found - names_.begin();
}

void CsvFile::add_input(const std::string& text, std::size_t first,
                        std::size_t last) {
  for (std::size_t column = first; column <= last; ++column) {
    uses_[column].push_back({inputs_.size(), column - first});
  }
  inputs_.push_back(text);
  widths_.push_back(0);
}

std::string CsvFile::column_name(std::size_t column) const {
  return has_names_ ? "'" + shown_text(names_[column]) + "'"
                    : "@" + std::to_string(column + 1);
}

std::string CsvFile::column_words(std::size_t input) const {
  return (widths_[input] > 0 ? "columns '" : "column '") +
         shown_text(inputs_[input]) + "'";
}

}  // namespace tally::files
