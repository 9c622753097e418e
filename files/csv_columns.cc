#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>

#include "tally/files/column_list.h"
#include "tally/files/csv.h"
#include "tally/files/file_kind.h"
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
  for (const ColumnItem& item : parse_columns(columns, names_)) {
    if (!item.input.empty()) input_names_.push_back(item.input);
    if (inputs_.empty()) {
      has_names_ = item.is_quoted || item.first.empty() || item.first[0] != '@';
    }
    const std::size_t first = find_column(item.first);
    const std::size_t last = item.is_range ? find_column(item.last) : first;
    TORCH_CHECK_VALUE(first <= last, paths_[0], ": columns ", item.text(),
                      ": expected the first before the last");
    add_input(item.text(), first, last);
    if (item.is_range) widths_.back() = last - first + 1;
  }
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
                    "'", column_hint(name, names_));
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
