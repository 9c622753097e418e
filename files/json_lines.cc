#include "tally/files/json_lines.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "tally/files/column_list.h"
#include "tally/files/file_kind.h"
#include "tally/files/json_text.h"
#include "tally/metrics/common/json_fault.h"
#include "tally/metrics/resampling/sample_ids.h"

namespace tally::files {
namespace {

// Lines per read.
constexpr std::int64_t kRows = 4096;

std::vector<std::string> texts_of(const Json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.get<std::vector<std::string>>();
}

/// The value of a key; discarded if the object lacks it.
const Json& value_of(const Json& object, const std::string& key) {
  static const Json kNothing(Json::value_t::discarded);
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

/// What a line is that is no object, and what helps.
std::string line_fault(const std::string& line) {
  try {
    return shown_json(Json::parse(line));
  } catch (const Json::out_of_range& error) {
    return internal::json_overflow(error);
  } catch (const Json::parse_error& error) {
    const std::string fault =
        internal::JsonFault{error, error.byte, line}.words();
    const auto has = [&](const char* words) {
      return fault.find(words) != fault.npos;
    };
    if (has("Infinity")) return fault + "; remove these lines";
    if (has("end that comes") || has("behind the end")) {
      return fault + "; jq -c . FILE writes each object in one line";
    }
    return has("in place of") ? fault + "; json.dumps of Python writes JSON"
                              : fault;
  }
}

}  // namespace

JsonLines::JsonLines(const std::vector<std::string>& paths,
                     const std::string& columns, const CsvOptions& options)
    : file_(paths),
      values_(options),
      has_missing_words_(!options.missing_words.empty()) {
  for (const std::string& label : options.labels) {
    labels_.emplace(label, static_cast<std::int64_t>(labels_.size()));
  }
  file_.drop_blank_ends();
  TORCH_CHECK_VALUE(file_.rows() > 0, file_.path(),
                    ": expected lines, got an empty file");
  find_keys();
  for (const ColumnItem& item : parse_columns(columns, keys_)) {
    if (!item.input.empty()) names_.push_back(item.input);
    inputs_.push_back(item.text());
    check_key(inputs_.back());
  }
  if (columns.empty()) inputs_ = keys_;
}

void JsonLines::find_keys() {
  const std::string line = file_.read(0, 1).front();
  const auto first = nlohmann::ordered_json::parse(without_nan(line), nullptr,
                                                   /*allow_exceptions=*/false);
  if (!first.is_object()) fail_line(0, line);
  for (const auto& [key, value] : first.items()) keys_.push_back(key);
}

void JsonLines::check_key(const std::string& key) const {
  if (std::find(keys_.begin(), keys_.end(), key) != keys_.end()) return;
  if (values_.missing() != Missing::kError && has_key(key)) return;
  constexpr std::size_t kMost = 10;
  std::string known;
  for (std::size_t i = 0; i < std::min(kMost, keys_.size()); ++i) {
    known += (i == 0 ? "'" : ", '") + shown_text(keys_[i]) + "'";
  }
  fail(0, "expected the key '" + shown_text(key) + "', got " +
              (known.empty() ? "no keys" : known) +
              (keys_.size() > kMost ? ", ..." : "") + column_hint(key, keys_) +
              (has_key(key) ? "; other lines have it: --missing skip drops "
                              "those that lack it"
                            : ""));
}

/// Whether any line has it, where the first may lack it.
bool JsonLines::has_key(const std::string& key) const {
  for (std::int64_t row = 0; row < rows(); row += kRows) {
    const auto lines = file_.read(row, std::min(row + kRows, rows()));
    const bool is_there =
        std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
          return parse_json(line).contains(key);
        });
    if (is_there) return true;
  }
  return false;
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
  const std::size_t start = line.find_first_not_of(" \t\r");
  std::string got;
  if (start == line.npos) {
    got = "an empty line";
  } else if (row == 0 && line[start] == '[') {
    got = "a list; jq -c '.[]' FILE writes its objects in a line each";
  } else {
    got = line_fault(without_nan(line));
  }
  fail(row, "expected a JSON object in each line, got " + got);
}

void JsonLines::scan(const std::vector<CsvKind>& kinds,
                     std::vector<bool> have_classes) {
  kinds_ = kinds;
  have_classes_ =
      have_classes.empty() ? classes_of(kinds) : std::move(have_classes);
  have_numbers_.assign(inputs_.size(), false);
  has_lists_.assign(inputs_.size(), false);
  has_texts_.assign(inputs_.size(), false);
  all_integers_.assign(inputs_.size(), true);
  numbered_.assign(inputs_.size(), {});
  widths_.assign(inputs_.size(), -1);
  width_rows_.assign(inputs_.size(), 0);
  std::vector<std::string> lines;
  for (std::int64_t row = 0; row < rows(); ++row) {
    if (row % kRows == 0) {
      lines = file_.read(row, std::min(row + kRows, rows()));
    }
    scan_line(row, lines[row % kRows]);
  }
  if (values_.missing() == Missing::kSkip) {
    file_.keep_only(std::move(kept_));
  }
  if (!refused_.empty()) refuse_all();
  settle_kinds();
}

void JsonLines::scan_line(std::int64_t row, const std::string& line) {
  const Json object = parse_json(line);
  if (!object.is_object()) fail_line(row, line);
  if (values_.missing() == Missing::kSkip) {
    if (lacks_value(object)) {
      ++skipped_;
      return;
    }
    kept_.push_back(row);
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    check_value(row, i, value_of(object, inputs_[i]));
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

void JsonLines::refuse_all() const {
  const std::set<std::string>& texts = refused_.texts();
  const auto is_number = [&](const std::string& text) {
    return values_.to_number(text) || has_decimal_comma(text);
  };
  std::string advice;
  if (std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
        return values_.is_missing(text);
      })) {
    advice = kinds_[first_refused_] == CsvKind::kTexts
                 ? "; --missing skip drops such rows"
                 : values_.missing_advice();
  } else if (are_texts_refused_ &&
             std::all_of(texts.begin(), texts.end(), is_number)) {
    const bool has_comma =
        std::any_of(texts.begin(), texts.end(), has_decimal_comma);
    advice = std::string("; numbers are written without quotes") +
             (has_comma ? ", and with a point" : "");
  } else if (are_texts_refused_ && labels_.empty()) {
    advice = word_advice(texts, refused_.can_be_labels(),
                         have_numbers_[first_refused_]);
  }
  refused_.fail(advice);
}

bool JsonLines::lacks_value(const Json& object) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (is_missing(i, value_of(object, inputs_[i]))) return true;
  }
  return false;
}

/// As far as an input can miss it: a text "NA" is one, and so is a name.
bool JsonLines::is_missing(std::size_t input, const Json& value) const {
  if (value.is_null() || value.is_discarded()) return true;
  const CsvKind kind = kinds_[input];
  if (kind == CsvKind::kTexts) return false;
  const bool is_name = kind == CsvKind::kKeys || kind == CsvKind::kNumbered;
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    if (labels_.count(text) != 0) return false;
    return is_name ? trimmed(text).empty() : values_.is_missing(text);
  }
  if (value.is_array()) {
    return std::any_of(value.begin(), value.end(), [&](const Json& item) {
      return !item.is_structured() && is_missing(input, item);
    });
  }
  return has_missing_words_ && value.is_number() &&
         values_.is_missing(value.dump());
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
  if (is_missing(input, value)) {
    return static_cast<T>(std::numeric_limits<double>::quiet_NaN());
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
    const Json& value = value_of(row, inputs_[input]);
    if (!value.is_array()) {
      // A missing list has as many numbers as the others.
      const std::int64_t count = std::max<std::int64_t>(1, widths_[input]);
      to = std::fill_n(to, count, number_of<T>(input, value));
      continue;
    }
    for (const Json& item : value) *to++ = number_of<T>(input, item);
  }
  return numbers;
}

std::vector<InputValue> JsonLines::read(std::int64_t begin, std::int64_t end) {
  std::vector<Json> rows;
  for (const std::string& line : file_.read(begin, end)) {
    rows.push_back(parse_json(line));
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
