#include "tally/files/csv_values.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>
#include <limits>

#include "tally/files/file_kind.h"
#include "tally/metrics/common/text_key.h"
#include "tally/state/joined.h"
#include "tally/state/parse_number.h"

namespace tally::files {
namespace {

constexpr std::int64_t kPlaces = 5;
constexpr std::size_t kMostLabels = 20;  // that a message proposes
constexpr std::size_t kMostMissing = 3;

template <class Number>
std::optional<Number> parse_field(std::string_view word) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') {
    word.remove_prefix(1);
  }
  return internal::parse_number<Number>(word);
}

// Also as others write it: "-nan", "NAN".
bool is_nan_word(std::string_view word) {
  if (word.size() == 4 && (word[0] == '-' || word[0] == '+')) {
    word.remove_prefix(1);
  }
  const auto is = [&](std::size_t i, char lower, char upper) {
    return word[i] == lower || word[i] == upper;
  };
  return word.size() == 3 && is(0, 'n', 'N') && is(1, 'a', 'A') &&
         is(2, 'n', 'N');
}

bool is_missing_word(std::string_view word) {
  static constexpr std::string_view kWords[] = {"NA",   "N/A",  "#N/A", "<NA>",
                                                "null", "NULL", "None", "."};
  return is_nan_word(word) || std::find(std::begin(kWords), std::end(kWords),
                                        word) != std::end(kWords);
}

std::optional<std::int64_t> truth_of(std::string_view word) {
  if (word.empty() || std::strchr("TtFf", word[0]) == nullptr) {
    return std::nullopt;
  }
  if (word == "TRUE" || word == "True" || word == "true") return 1;
  if (word == "FALSE" || word == "False" || word == "false") return 0;
  return std::nullopt;
}

bool is_number_with(std::string_view text, char separator) {
  std::string number(text);
  const std::size_t at = number.find(separator);
  if (at == number.npos || number.find('.') != number.npos) return false;
  number[at] = '.';
  return parse_field<double>(number).has_value();
}

/// 1.000,5 for a point and a comma.
bool is_grouped_with(std::string_view text, char group, char decimal) {
  const std::size_t last = text.rfind(group);
  if (last == text.npos || last > text.find(decimal)) return false;
  std::string number(text);
  number.erase(std::remove(number.begin(), number.end(), group), number.end());
  return decimal == '.' ? parse_field<double>(number).has_value()
                        : is_number_with(number, decimal);
}

bool is_percentage(std::string_view text) {
  return !text.empty() && text.back() == '%' &&
         parse_field<double>(text.substr(0, text.size() - 1)).has_value();
}

/// Which a list at --labels may hold.
bool is_name(const std::string& text) {
  return text.find(',') == text.npos &&
         std::any_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalpha(c) != 0 || c >= 0x80;
         });
}

bool is_short_truth(const std::string& text) {
  return text.size() == 1 && std::strchr("TtFf", text[0]) != nullptr;
}

bool has_digit(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

CsvValues::CsvValues(const CsvOptions& options)
    : missing_words_(options.missing_words.begin(),
                     options.missing_words.end()),
      missing_(options.missing),
      decimal_(options.decimal) {
  for (const std::string& label : options.labels) {
    labels_.emplace(label, static_cast<std::int64_t>(labels_.size()));
  }
}

bool CsvValues::is_own_missing(std::string_view word) const {
  return !missing_words_.empty() &&
         missing_words_.count(std::string(word)) != 0;
}

bool CsvValues::is_missing(std::string_view text) const {
  const std::string_view word = trimmed(text);
  return word.empty() || is_missing_word(word) || is_own_missing(word);
}

std::optional<std::int64_t> CsvValues::key_of(std::string_view word) const {
  if (!labels_.empty()) {
    const auto label = labels_.find(std::string(word));
    if (label != labels_.end()) return label->second;
  }
  if (is_own_missing(word)) return std::nullopt;
  return parse_field<std::int64_t>(word);
}

std::optional<std::int64_t> CsvValues::integer_of(std::string_view word) const {
  const auto integer = key_of(word);
  return integer ? integer : truth_of(word);
}

std::optional<std::int64_t> CsvValues::to_key(std::string_view text,
                                              bool is_exact) const {
  const std::string_view word = trimmed(text);
  const auto key = key_of(word);
  const bool is_other =
      is_exact && key && labels_.empty() && !internal::integer_of_text(word);
  return is_other ? std::nullopt : key;
}

std::optional<std::int64_t> CsvValues::to_integer(std::string_view text) const {
  return integer_of(trimmed(text));
}

std::optional<double> CsvValues::with_comma(std::string_view word) const {
  if (!is_number_with(word, ',')) return std::nullopt;
  std::string number(word);
  number[number.find(',')] = '.';
  return parse_field<double>(number);
}

std::optional<double> CsvValues::to_number(std::string_view text) const {
  const std::string_view word = trimmed(text);
  if (const auto integer = integer_of(word)) {
    return static_cast<double>(*integer);
  }
  if (missing_ == Missing::kNan && is_missing(word)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (is_own_missing(word)) return std::nullopt;
  if (decimal_ == ',' && word.find('.') != word.npos) return std::nullopt;
  if (const auto number = parse_field<double>(word)) return number;
  return decimal_ == ',' ? with_comma(word) : std::nullopt;
}

const char* CsvValues::integer_words() const {
  return labels_.empty() ? "an integer" : "an integer or one of --labels";
}

const char* CsvValues::missing_advice() const {
  return missing_ == Missing::kError
             ? "; --missing skip drops rows with fields that are empty, "
               "NA, nan, null and the like, --missing nan reads them as NaN, "
               "and skip:-,? knows other words"
             : "; --missing skip drops such rows";
}

std::string CsvValues::advice(const std::set<std::string>& refused,
                              bool can_be_label, bool has_numbers) const {
  const auto all = [&](auto&& holds) {
    return std::all_of(refused.begin(), refused.end(), holds);
  };
  if (std::any_of(refused.begin(), refused.end(),
                  [&](const auto& text) { return is_missing(text); })) {
    return missing_advice();
  }
  const bool is_comma = decimal_ == ',';
  const auto is_grouped = [](const auto& text) {
    return is_grouped_with(text, '.', ',');
  };
  if (!refused.empty() && all([&](const auto& text) {
        return is_grouped(text) || (!is_comma && has_decimal_comma(text));
      })) {
    const bool has_groups =
        std::any_of(refused.begin(), refused.end(), is_grouped);
    return std::string(is_comma ? ""
                                : "; if these are decimal commas, use "
                                  "--decimal comma") +
           (has_groups ? "; write numbers without points between thousands"
                       : "");
  }
  if (!is_comma &&
      all([](const auto& text) { return is_grouped_with(text, ',', '.'); })) {
    return "; write numbers without commas between thousands";
  }
  if (all([](const auto& text) { return is_percentage(text); })) {
    return "; write percentages as numbers from 0 to 1";
  }
  return labels_.empty() ? word_advice(refused, can_be_label, has_numbers) : "";
}

bool has_decimal_comma(std::string_view text) {
  return is_number_with(text, ',');
}

std::string word_advice(const std::set<std::string>& words, bool can_be_label,
                        bool has_numbers) {
  if (!std::all_of(words.begin(), words.end(), is_name)) return "";
  const std::string names = internal::joined(
      ",", words, [](const std::string& word) { return word; });
  if (!has_numbers) {
    if (!can_be_label) return "";
    return words.size() > kMostLabels
               ? "; --labels NAME,NAME,... reads texts as 0, 1, ..."
               : "; --labels " + names +
                     " reads texts as classes 0, 1, ..., in this order";
  }
  if (std::all_of(words.begin(), words.end(), is_short_truth)) {
    return "; true is written TRUE, True, true or 1, and false FALSE, False, "
           "false or 0";
  }
  const bool may_be_missing =
      words.size() <= kMostMissing &&
      std::none_of(words.begin(), words.end(), has_digit);
  return may_be_missing
             ? "; if the value is missing there, --missing skip:" + names +
                   " drops such rows"
             : "";
}

void RefusedFields::add(const std::string& path, std::int64_t line,
                        const std::string& column, const std::string& expected,
                        const RefusedValue& value) {
  const std::string quoted =
      value.is_text ? "'" + value.shown + "'" : value.shown;
  // What helps is said for the first column.
  if (count_ == 0 || column == column_) {
    can_be_label_ = can_be_label_ && value.can_be_label;
    if (texts_.size() <= kMostLabels) {
      texts_.insert(value.is_there ? value.shown : "");
    }
  }
  if (count_++ == 0) {
    column_ = column;
    first_ = path + ", line " + std::to_string(line) + ": " + column +
             ": expected " + expected + ", got " + quoted;
  } else if (count_ <= kPlaces) {
    others_ += others_.empty() ? "; also in " : ", ";
    if (path != path_) others_ += path + ", ";
    others_ += "line " + std::to_string(line) + " (" +
               (column == last_column_ ? "" : column + ": ") + quoted + ")";
  }
  path_ = path;
  last_column_ = column;
}

void RefusedFields::fail(const std::string& advice) const {
  const std::string more =
      count_ > kPlaces ? " and " + std::to_string(count_ - kPlaces) + " more"
                       : "";
  TORCH_CHECK_VALUE(false, first_, others_, more, advice);
}

}  // namespace tally::files
