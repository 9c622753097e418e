#include "tally/files/json_lines.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tally/files/input_file.h"
#include "tally/files/json_text.h"
#include "tally/metrics/common/did_you_mean.h"

namespace tally::files {
namespace {

// Lines per read.
constexpr std::int64_t kRows = 4096;

bool is_texts(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(),
                     [](const Json& item) { return item.is_string(); });
}

// Those above 2^63 are numbers only.
bool is_integer_or_flag(const Json& value) {
  return value.is_boolean() || is_integer(value);
}

const char* expected_of(CsvKind kind) {
  switch (kind) {
    case CsvKind::kIntegers:
      return "an integer";
    case CsvKind::kTexts:
      return "a text or a list of texts";
    case CsvKind::kFloats:
    case CsvKind::kEither:
      break;
  }
  return "a number";
}

bool is_of(CsvKind kind, const Json& value) {
  switch (kind) {
    case CsvKind::kIntegers:
      return is_integer_or_flag(value);
    case CsvKind::kTexts:
      return value.is_string() || is_texts(value);
    case CsvKind::kFloats:
    case CsvKind::kEither:
      break;
  }
  return is_integer_or_flag(value) || value.is_number();
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

template <class T>
at::Tensor numbers_of(const std::vector<Json>& rows, const std::string& key,
                      at::ScalarType dtype) {
  const at::Tensor numbers =
      at::empty({static_cast<std::int64_t>(rows.size())}, dtype);
  std::transform(rows.begin(), rows.end(), numbers.data_ptr<T>(),
                 [&](const Json& row) {
                   const Json& value = row.at(key);
                   return value.is_boolean() ? static_cast<T>(value.get<bool>())
                                             : value.get<T>();
                 });
  return numbers;
}

}  // namespace

JsonLines::JsonLines(std::string path, const std::string& columns)
    : file_(std::move(path)) {
  TORCH_CHECK_VALUE(file_.rows() > 0, file_.path(),
                    ": expected lines, got an empty file");
  try {
    const auto first = nlohmann::ordered_json::parse(file_.read(0, 1).front());
    for (const auto& [key, value] : first.items()) keys_.push_back(key);
    if (!first.is_object()) keys_.clear();
  } catch (const nlohmann::ordered_json::exception&) {
    // scan() tells what is wrong.
  }
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

void JsonLines::check_key(const std::string& key) const {
  TORCH_CHECK_VALUE(keys_.empty() || std::find(keys_.begin(), keys_.end(),
                                               key) != keys_.end(),
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
  TORCH_CHECK_VALUE(false, file_.path(), ": line ", row + 1, ": ", what);
}

void JsonLines::scan(const std::vector<CsvKind>& kinds) {
  kinds_ = kinds;
  has_lists_.assign(inputs_.size(), false);
  has_texts_.assign(inputs_.size(), false);
  std::vector<bool> all_integers(inputs_.size(), true);
  std::vector<std::string> lines;
  for (std::int64_t row = 0; row < rows(); ++row) {
    if (row % kRows == 0) {
      lines = file_.read(row, std::min(row + kRows, rows()));
    }
    const Json object = Json::parse(lines[row % kRows], nullptr,
                                    /*allow_exceptions=*/false);
    if (!object.is_object()) fail(row, "expected a JSON object");
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto found = object.find(inputs_[i]);
      if (found == object.end()) fail(row, "no key '" + inputs_[i] + "'");
      if (!is_of(kinds_[i], *found)) {
        fail(row, "key '" + inputs_[i] + "': expected " +
                      expected_of(kinds_[i]) + ", got " + shown_json(*found));
      }
      all_integers[i] = all_integers[i] && is_integer_or_flag(*found);
      has_lists_[i] = has_lists_[i] || found->is_array();
      has_texts_[i] = has_texts_[i] || found->is_string();
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
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (kinds_[i] != CsvKind::kEither) continue;
    kinds_[i] = all_integers[i] ? CsvKind::kIntegers : CsvKind::kFloats;
  }
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
    if (kinds_[i] == CsvKind::kIntegers) {
      inputs.push_back(
          InputValue::of(numbers_of<std::int64_t>(rows, key, at::kLong)));
    } else if (kinds_[i] != CsvKind::kTexts) {
      inputs.push_back(
          InputValue::of(numbers_of<double>(rows, key, at::kDouble)));
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
