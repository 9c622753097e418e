#include <c10/util/Exception.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tally/files/file_kind.h"
#include "tally/files/json_lines.h"
#include "tally/files/json_text.h"

namespace tally::files {
namespace {

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

}  // namespace

/// Those above 2^63 are numbers only.
bool JsonLines::is_integer_of(const Json& value) const {
  return value.is_boolean() || is_integer(value) ||
         (value.is_string() && labels_.count(value.get<std::string>()) != 0);
}

void JsonLines::refuse(std::int64_t row, std::size_t input,
                       const std::string& expected, const Json& value) {
  const auto [file, line] = file_.line(row);
  if (refused_.empty()) first_refused_ = input;
  const bool is_text = value.is_string();
  are_texts_refused_ = are_texts_refused_ && is_text;
  const bool is_there = !value.is_discarded();
  const bool can_be_label = is_text && have_classes_[input];
  refused_.add(file->path(), line, "key '" + inputs_[input] + "'", expected,
               {is_text    ? shown_text(value.get<std::string>())
                : is_there ? shown_json(value)
                           : "no such key",
                is_text, can_be_label, is_there});
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
  if (!is_list && is_missing(input, value)) {
    check_number(row, input, value);
    return;
  }
  const auto own = is_list ? static_cast<std::int64_t>(value.size()) : 0;
  if (is_list && value.empty()) {
    refuse(row, input, "a number or a list of numbers", value);
    return;
  }
  if (width < 0) {
    width = own;
    width_rows_[input] = row;
  }
  if (own != width) {
    const std::string first = " as in " + file_.place(width_rows_[input]);
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
  const bool is_missing =
      !value.is_structured() && this->is_missing(input, value);
  const bool is_nan = is_missing && values_.missing() == Missing::kNan;
  const bool is_whole = is_integer_of(value) && !is_missing;
  const bool is_number = (value.is_number() && !is_missing) || is_nan;
  have_numbers_[input] = have_numbers_[input] || is_whole || is_number;
  if (!is_whole && (kinds_[input] == CsvKind::kIntegers || !is_number)) {
    refuse(row, input, expected_of(kinds_[input], !labels_.empty()), value);
  }
  all_integers_[input] = all_integers_[input] && is_whole;
}

}  // namespace tally::files
