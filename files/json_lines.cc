#include "tally/files/json_lines.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>

#include "tally/files/file_kind.h"
#include "tally/files/input_file.h"
#include "tally/files/json_text.h"
#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/resampling/sample_ids.h"

namespace tally::files {
namespace {

// Lines per read.
constexpr std::int64_t kRows = 4096;
constexpr std::size_t kMostDifferent = 10'000;  // texts of an input

bool is_texts(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(),
                     [](const Json& item) { return item.is_string(); });
}

const char* expected_of(CsvKind kind, bool has_labels) {
  switch (kind) {
    case CsvKind::kIntegers:
      return has_labels ? "an integer or one of --labels" : "an integer";
    case CsvKind::kTexts:
      return "a text or a list of texts";
    case CsvKind::kKeys:
    case CsvKind::kNumbered:
      return "an integer or a text";
    case CsvKind::kFloats:
    case CsvKind::kEither:
      break;
  }
  return has_labels ? "a number or one of --labels" : "a number";
}

bool is_id(const Json& value) {
  return value.is_number_integer() || value.is_string();
}

std::string id_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<std::string> texts_of(const Json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.get<std::vector<std::string>>();
}

/// "got NaN": what Python's json writes, though JSON has no such numbers.
bool has_nan(const std::string& line) {
  return line.find("NaN") != line.npos || line.find("Infinity") != line.npos;
}

}  // namespace

JsonLines::JsonLines(const std::vector<std::string>& paths,
                     const std::string& columns,
                     const std::vector<std::string>& labels)
    : file_(paths) {
  for (const std::string& label : labels) {
    labels_.emplace(label, static_cast<std::int64_t>(labels_.size()));
  }
  file_.drop_blank_ends();
  TORCH_CHECK_VALUE(file_.rows() > 0, file_.path(),
                    ": expected lines, got an empty file");
  find_keys();
  std::istringstream items(columns);
  for (std::string item; std::getline(items, item, ',');) {
    const bool is_key =
        std::find(keys_.begin(), keys_.end(), item) != keys_.end();
    const std::string name = is_key ? "" : take_input_name(item);
    if (!name.empty()) names_.push_back(name);
    check_key(item);
    inputs_.push_back(item);
  }
  TORCH_CHECK_VALUE(names_.empty() || names_.size() == inputs_.size(),
                    "--columns: expected names for all inputs or for none, "
                    "got '",
                    columns, "'");
  if (columns.empty()) inputs_ = keys_;
}

void JsonLines::find_keys() {
  const std::string line = file_.read(0, 1).front();
  const auto first = nlohmann::ordered_json::parse(line, nullptr,
                                                   /*allow_exceptions=*/false);
  if (!first.is_object()) fail_line(0, line);
  for (const auto& [key, value] : first.items()) keys_.push_back(key);
}

void JsonLines::check_key(const std::string& key) const {
  TORCH_CHECK_VALUE(std::find(keys_.begin(), keys_.end(), key) != keys_.end(),
                    file_.path(), ": no key '", key, "' in line 1",
                    internal::did_you_mean(key, keys_));
}

void JsonLines::add_ids(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) check_key(key);
  id_keys_ = keys;
}

void JsonLines::choose(
    const std::vector<std::pair<std::string, std::size_t>>& columns) {
  inputs_.clear();
  names_.clear();
  for (const auto& [input, key] : columns) {
    names_.push_back(input);
    inputs_.push_back(keys_.at(key));
  }
}

void JsonLines::fail(std::int64_t row, const std::string& what) const {
  TORCH_CHECK_VALUE(false, file_.place(row), ": ", what);
}

void JsonLines::fail_line(std::int64_t row, const std::string& line) const {
  const Json value = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const std::size_t start = line.find_first_not_of(" \t\r");
  const char begin = start == line.npos ? ' ' : line[start];
  std::string got = value.is_discarded() ? "" : ", got " + shown_json(value);
  if (start == line.npos) {
    got = ", got an empty line";
  } else if (has_nan(line) && value.is_discarded()) {
    got =
        ", got NaN or Infinity, which JSON does not have; leave these lines "
        "out";
  } else if (row == 0 && begin == '[') {
    got = ", got a list; jq -c '.[]' FILE writes its objects in a line each";
  } else if (begin == '{' && value.is_discarded()) {
    got =
        ", got one that does not end in this line or is damaged; jq -c . "
        "FILE writes each object in one line";
  }
  fail(row, "expected a JSON object in each line" + got);
}

void JsonLines::scan(const std::vector<CsvKind>& kinds) {
  kinds_ = kinds;
  has_lists_.assign(inputs_.size(), false);
  has_texts_.assign(inputs_.size(), false);
  all_integers_.assign(inputs_.size(), true);
  numbered_.assign(inputs_.size(), {});
  widths_.assign(inputs_.size(), -1);
  std::vector<std::string> lines;
  for (std::int64_t row = 0; row < rows(); ++row) {
    if (row % kRows == 0) {
      lines = file_.read(row, std::min(row + kRows, rows()));
    }
    const Json object = Json::parse(lines[row % kRows], nullptr,
                                    /*allow_exceptions=*/false);
    if (!object.is_object()) fail_line(row, lines[row % kRows]);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto found = object.find(inputs_[i]);
      if (found == object.end()) fail(row, "no key '" + inputs_[i] + "'");
      check_value(row, i, *found);
    }
    for (const std::string& key : id_keys_) {
      const auto found = object.find(key);
      if (found == object.end()) fail(row, "no key '" + key + "'");
      if (!is_id(*found)) {
        fail(row, "key '" + key + "': expected an integer or a text, got " +
                      shown_json(*found));
      }
    }
  }
  if (!refused_.empty()) {
    refused_.fail(refused_.can_be_labels() && labels_.empty()
                      ? label_advice(refused_.texts())
                      : "");
  }
  settle_kinds();
}

void JsonLines::settle_kinds() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    CsvKind& kind = kinds_[i];
    const bool is_open = kind == CsvKind::kEither || kind == CsvKind::kKeys ||
                         kind == CsvKind::kNumbered;
    if (is_open && all_integers_[i]) {
      kind = CsvKind::kIntegers;
      numbered_[i].clear();
    } else if (kind == CsvKind::kEither ||
               (kind == CsvKind::kNumbered && !has_texts_[i])) {
      kind = CsvKind::kFloats;
      numbered_[i].clear();
    }
  }
}

/// Those above 2^63 are numbers only.
bool JsonLines::is_integer_of(const Json& value) const {
  return value.is_boolean() || is_integer(value) ||
         (value.is_string() && labels_.count(value.get<std::string>()) != 0);
}

void JsonLines::refuse(std::int64_t row, std::size_t input,
                       const std::string& expected, const Json& value) {
  const auto [file, line] = file_.line(row);
  const bool is_text = value.is_string();
  const bool can_be_label = is_text && (kinds_[input] == CsvKind::kIntegers ||
                                        kinds_[input] == CsvKind::kEither);
  refused_.add(
      file->path(), line, "key '" + inputs_[input] + "'", expected,
      {is_text ? shown_text(value.get<std::string>()) : shown_json(value),
       is_text, can_be_label});
}

void JsonLines::check_value(std::int64_t row, std::size_t input,
                            const Json& value) {
  switch (kinds_[input]) {
    case CsvKind::kTexts:
      if (!value.is_string() && !is_texts(value)) {
        refuse(row, input, expected_of(CsvKind::kTexts, false), value);
      }
      has_lists_[input] = has_lists_[input] || value.is_array();
      has_texts_[input] = has_texts_[input] || value.is_string();
      return;
    case CsvKind::kKeys:
      check_name(row, input, value);
      return;
    case CsvKind::kNumbered:
      check_category(row, input, value);
      return;
    case CsvKind::kIntegers:
    case CsvKind::kFloats:
    case CsvKind::kEither:
      check_list(row, input, value);
  }
}

void JsonLines::check_name(std::int64_t row, std::size_t input,
                           const Json& value) {
  if (!is_id(value)) {
    refuse(row, input, expected_of(kinds_[input], false), value);
  } else if (!is_integer_of(value)) {
    all_integers_[input] = false;
  }
}

/// Numbers, and texts for which there will be numbers.
void JsonLines::check_category(std::int64_t row, std::size_t input,
                               const Json& value) {
  const bool is_label = value.is_string() && is_integer_of(value);
  has_texts_[input] = has_texts_[input] || (value.is_string() && !is_label);
  if (!is_id(value) || is_label) check_list(row, input, value);
  if (value.is_string() && !is_label) all_integers_[input] = false;
  if (!is_id(value)) return;
  auto& all = numbered_[input];
  // Integers may be too many, but have no numbers.
  if (all.size() <= kMostDifferent) all.insert(id_of(value));
  if (has_texts_[input] && all.size() > kMostDifferent) {
    fail(row, "key '" + inputs_[input] + "': expected at most " +
                  std::to_string(kMostDifferent) +
                  " different texts, got more");
  }
}

/// Of as many numbers as in the first row, or one number.
void JsonLines::check_list(std::int64_t row, std::size_t input,
                           const Json& value) {
  std::int64_t& width = widths_[input];
  const bool is_list = value.is_array();
  const auto own = is_list ? static_cast<std::int64_t>(value.size()) : 0;
  if (is_list && value.empty()) {
    refuse(row, input, "a number or a list of numbers", value);
    return;
  }
  if (width < 0) width = own;
  if (own != width) {
    const std::string first = " as in " + file_.place(0);
    refuse(row, input,
           width == 0
               ? "one number" + first
               : "a list of " + std::to_string(width) + " numbers" + first,
           value);
    return;
  }
  if (!is_list) {
    check_number(row, input, value);
    return;
  }
  for (const Json& item : value) check_number(row, input, item);
}

void JsonLines::check_number(std::int64_t row, std::size_t input,
                             const Json& value) {
  const bool is_whole = is_integer_of(value);
  if (!is_whole &&
      (kinds_[input] == CsvKind::kIntegers || !value.is_number())) {
    refuse(row, input, expected_of(kinds_[input], !labels_.empty()), value);
  }
  all_integers_[input] = all_integers_[input] && is_whole;
}

template <class T>
T JsonLines::number_of(std::size_t input, const Json& value) const {
  if (kinds_[input] == CsvKind::kKeys) {
    return static_cast<T>(
        SampleIds(std::vector<std::string>{id_of(value)}).values().front());
  }
  if (kinds_[input] == CsvKind::kNumbered) {
    const auto& all = numbered_[input];
    return static_cast<T>(std::distance(all.begin(), all.find(id_of(value))));
  }
  if (value.is_string()) {
    return static_cast<T>(labels_.at(value.get<std::string>()));
  }
  return value.is_boolean() ? static_cast<T>(value.get<bool>())
                            : value.get<T>();
}

template <class T>
at::Tensor JsonLines::numbers_of(std::size_t input,
                                 const std::vector<Json>& rows) const {
  std::vector<std::int64_t> sizes{static_cast<std::int64_t>(rows.size())};
  if (widths_[input] > 0) sizes.push_back(widths_[input]);
  const at::Tensor numbers =
      at::empty(sizes, std::is_same_v<T, double> ? at::kDouble : at::kLong);
  T* to = numbers.data_ptr<T>();
  for (const Json& row : rows) {
    const Json& value = row.at(inputs_[input]);
    if (!value.is_array()) {
      *to++ = number_of<T>(input, value);
      continue;
    }
    for (const Json& item : value) *to++ = number_of<T>(input, item);
  }
  return numbers;
}

std::vector<InputValue> JsonLines::read(std::int64_t begin, std::int64_t end) {
  std::vector<Json> rows;
  for (const std::string& line : file_.read(begin, end)) {
    rows.push_back(Json::parse(line));
  }
  ids_.assign(id_keys_.size(), {});
  for (std::size_t i = 0; i < id_keys_.size(); ++i) {
    for (const Json& row : rows) ids_[i].push_back(id_of(row.at(id_keys_[i])));
  }
  std::vector<InputValue> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::string& key = inputs_[i];
    if (kinds_[i] == CsvKind::kFloats) {
      inputs.push_back(InputValue::of(numbers_of<double>(i, rows)));
    } else if (kinds_[i] != CsvKind::kTexts) {
      inputs.push_back(InputValue::of(numbers_of<std::int64_t>(i, rows)));
    } else if (has_lists_[i]) {
      std::vector<std::vector<std::string>> lists;
      for (const Json& row : rows) lists.push_back(texts_of(row.at(key)));
      inputs.push_back(InputValue::of(std::move(lists)));
    } else {
      std::vector<std::string> texts;
      for (const Json& row : rows) {
        texts.push_back(row.at(key).get<std::string>());
      }
      inputs.push_back(InputValue::of(std::move(texts)));
    }
  }
  return inputs;
}

}  // namespace tally::files
