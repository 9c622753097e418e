#include "tally/files/csv.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

#include "tally/metrics/common/did_you_mean.h"
#include "tally/state/parse_number.h"

namespace tally::files {
namespace {

constexpr std::size_t kMostColumns = 100'000;
constexpr std::int64_t kRowsPerMark = 1024;
constexpr std::size_t kMostShown = 40;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') {
    text.remove_prefix(1);
  }
  return internal::parse_number<Number>(text);
}

std::optional<std::size_t> to_place(const std::string& name) {
  if (name.empty() || name[0] != '@') return std::nullopt;
  const auto number = parse<std::int64_t>(std::string_view(name).substr(1));
  if (!number || *number < 1) return std::nullopt;
  return static_cast<std::size_t>(*number);
}

/// "';'".
std::string quoted(char c) {
  return c == '\t' ? "tab" : "'" + std::string(1, c) + "'";
}

}  // namespace

CsvFile::CsvFile(std::string path, const std::string& columns,
                 CsvOptions options)
    : options_(std::move(options)),
      file_(std::move(path)),
      records_(file_, options_.delimiter == 0 ? ',' : options_.delimiter) {
  for (const std::string& label : options_.labels) {
    labels_.emplace(label, static_cast<std::int64_t>(labels_.size()));
  }
  TORCH_CHECK_VALUE(records_.next(), file_.path(),
                    ": expected lines, got an empty file");
  std::string_view only;
  const std::size_t count =
      records_.fields([&](std::size_t, std::string_view text) { only = text; });
  const std::size_t other = only.find_first_of(";\t|");
  TORCH_CHECK_VALUE(options_.delimiter != 0 || count > 1 || other == only.npos,
                    file_.path(), ": expected commas between fields, got ",
                    quoted(only[other]),
                    "; if that is the delimiter, use --delimiter ",
                    only[other] == '\t' ? "tab" : quoted(only[other]));
  TORCH_CHECK_VALUE(count <= kMostColumns, file_.path(), ": expected at most ",
                    kMostColumns, " columns, got ", count);
  records_.fields([&](std::size_t, std::string_view name) {
    names_.emplace_back(trimmed(name));
  });
  uses_.resize(count);
  find_columns(columns);
}

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
    TORCH_CHECK_VALUE(first <= last, file_.path(), ": columns ", item,
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
    TORCH_CHECK_VALUE(number && *number <= names_.size(), file_.path(),
                      ": expected columns from @1 to @", names_.size(),
                      ", got '", name, "'");
    return *number - 1;
  }
  const auto found = std::find(names_.begin(), names_.end(), name);
  TORCH_CHECK_VALUE(found != names_.end(), file_.path(), ": no column '", name,
                    "'", internal::did_you_mean(name, names_));
  TORCH_CHECK_VALUE(std::find(found + 1, names_.end(), name) == names_.end(),
                    file_.path(), ": more than one column '", name, "'");
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

const char* CsvFile::integer_words() const {
  return labels_.empty() ? "an integer" : "an integer or one of --labels";
}

void CsvFile::refuse(std::size_t column, const char* expected,
                     std::string_view got) const {
  const std::string name = has_names_ ? "'" + names_[column] + "'"
                                      : "@" + std::to_string(column + 1);
  std::string shown(got.substr(0, kMostShown));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < ' '; }, ' ');
  records_.fail("column " + name + ": expected " + expected + ", got '" +
                shown + "'");
}

/// Python's False and True are read as 0 and 1.
std::optional<std::int64_t> CsvFile::to_integer(std::string_view text) const {
  const std::string_view word = trimmed(text);
  if (!labels_.empty()) {
    const auto label = labels_.find(std::string(word));
    if (label != labels_.end()) return label->second;
  }
  if (word == "True" || word == "true") return 1;
  if (word == "False" || word == "false") return 0;
  return parse<std::int64_t>(text);
}

std::optional<double> CsvFile::to_number(std::string_view text) const {
  if (const auto integer = to_integer(text)) {
    return static_cast<double>(*integer);
  }
  if (options_.missing == Missing::kNan && trimmed(text).empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return parse<double>(text);
}

bool CsvFile::lacks_field() {
  bool lacks = false;
  records_.fields([&](std::size_t column, std::string_view text) {
    if (column >= uses_.size() || !trimmed(text).empty()) return;
    for (const Use& use : uses_[column]) {
      lacks = lacks || kinds_[use.input] != CsvKind::kTexts;
    }
  });
  return lacks;
}

/// Advances to the next row that is kept, and adds the others to `skipped`.
bool CsvFile::next_row(std::int64_t& skipped) {
  while (records_.next()) {
    if (options_.missing != Missing::kSkip || !lacks_field()) return true;
    ++skipped;
  }
  return false;
}

void CsvFile::scan(const std::vector<CsvKind>& kinds) {
  kinds_ = kinds;
  text_bytes_ = 0;
  std::vector<bool> all_integers(inputs_.size(), true);
  records_.seek(0, 1);
  if (has_names_) records_.next();
  skipped_ = 0;
  for (rows_ = 0; next_row(skipped_); ++rows_) {
    if (rows_ % kRowsPerMark == 0) {
      marks_.push_back({records_.offset(), records_.line()});
    }
    check_row(all_integers);
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (kinds_[i] != CsvKind::kEither) continue;
    kinds_[i] = all_integers[i] ? CsvKind::kIntegers : CsvKind::kFloats;
  }
}

void CsvFile::check_row(std::vector<bool>& all_integers) {
  const std::size_t count =
      records_.fields([&](std::size_t column, std::string_view text) {
        if (column >= uses_.size()) return;
        for (const Use& use : uses_[column]) {
          const CsvKind wanted = kinds_[use.input];
          if (wanted == CsvKind::kTexts) {
            text_bytes_ += static_cast<std::int64_t>(text.size());
            continue;
          }
          if (to_integer(text)) continue;
          if (wanted == CsvKind::kIntegers) {
            refuse(column, integer_words(), text);
          }
          if (!to_number(text)) refuse(column, "a number", text);
          all_integers[use.input] = false;
        }
      });
  if (count != names_.size()) {
    records_.fail("expected " + std::to_string(names_.size()) +
                  " fields, got " + std::to_string(count));
  }
}

std::int64_t CsvFile::bytes_per_row() const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    const bool is_text = i < kinds_.size() && kinds_[i] == CsvKind::kTexts;
    bytes += static_cast<std::int64_t>(
        std::max<std::size_t>(1, widths_[i]) *
        (is_text ? sizeof(std::string) : sizeof(double)));
  }
  return bytes + text_bytes_ / std::max<std::int64_t>(1, rows_);
}

void CsvFile::go_to(std::int64_t row) {
  if (row == next_row_) return;
  const Mark& mark = marks_.at(row / kRowsPerMark);
  records_.seek(mark.offset, mark.line);
  std::int64_t skipped = 0;
  for (std::int64_t i = 0; i < row % kRowsPerMark; ++i) next_row(skipped);
}

std::int64_t CsvFile::line_of(std::int64_t row) {
  next_row_ = -1;
  go_to(row);
  std::int64_t skipped = 0;
  TORCH_CHECK_VALUE(next_row(skipped), file_.path(),
                    ": unexpected end of file");
  return records_.line();
}

std::vector<at::Tensor> CsvFile::read(std::int64_t begin, std::int64_t end) {
  std::vector<at::Tensor> tensors;
  texts_.resize(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (kinds_[i] == CsvKind::kTexts) {
      tensors.emplace_back();
      texts_[i].assign(
          static_cast<std::size_t>(end - begin),
          std::vector<std::string>(std::max<std::size_t>(1, widths_[i])));
      continue;
    }
    std::vector<std::int64_t> sizes{end - begin};
    if (widths_[i] > 0) sizes.push_back(static_cast<std::int64_t>(widths_[i]));
    tensors.push_back(at::empty(
        sizes, kinds_[i] == CsvKind::kIntegers ? at::kLong : at::kDouble));
  }
  if (begin == end) return tensors;
  go_to(begin);
  std::int64_t skipped = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    TORCH_CHECK_VALUE(next_row(skipped), file_.path(),
                      ": unexpected end of file");
    store_row(row - begin, tensors);
  }
  next_row_ = end;
  return tensors;
}

void CsvFile::store_row(std::int64_t row, std::vector<at::Tensor>& into) {
  records_.fields([&](std::size_t column, std::string_view text) {
    if (column >= uses_.size()) return;
    for (const Use& use : uses_[column]) {
      if (kinds_[use.input] == CsvKind::kTexts) {
        texts_[use.input][static_cast<std::size_t>(row)][use.position] = text;
        continue;
      }
      const auto width = std::max<std::size_t>(1, widths_[use.input]);
      const auto place = row * static_cast<std::int64_t>(width) + use.position;
      void* data = into[use.input].data_ptr();
      if (kinds_[use.input] == CsvKind::kIntegers) {
        const auto integer = to_integer(text);
        if (!integer) refuse(column, integer_words(), text);
        static_cast<std::int64_t*>(data)[place] = *integer;
      } else {
        const auto number = to_number(text);
        if (!number) refuse(column, "a number", text);
        static_cast<double*>(data)[place] = *number;
      }
    }
  });
}

}  // namespace tally::files
