#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tally/files/csv_options.h"

namespace tally::files {

/// Without blanks at both ends.
std::string_view trimmed(std::string_view text);

/// The fields of a CSV file as numbers.
class CsvValues {
 public:
  explicit CsvValues(const CsvOptions& options);

  /// TRUE and FALSE, as R and Excel write them, are read as 1 and 0, and so are
  /// Python's.
  std::optional<std::int64_t> to_integer(std::string_view text) const;
  std::optional<double> to_number(std::string_view text) const;
  /// An integer or a label; if `is_exact`, an integer as SampleIds reads it:
  /// 12, not 012.
  std::optional<std::int64_t> to_key(std::string_view text,
                                     bool is_exact) const;
  bool is_missing(std::string_view text) const;
  Missing missing() const { return missing_; }

  /// What an integer column holds, for messages.
  const char* integer_words() const;
  /// "; --missing ...": what helps with missing values.
  const char* missing_advice() const;
  /// The option that helps with these fields of a column, in which others may
  /// be numbers; may be empty.
  std::string advice(const std::set<std::string>& refused, bool can_be_label,
                     bool has_numbers) const;

 private:
  bool is_own_missing(std::string_view word) const;
  std::optional<std::int64_t> key_of(std::string_view word) const;
  std::optional<std::int64_t> integer_of(std::string_view word) const;
  std::optional<double> with_comma(std::string_view word) const;

  std::unordered_map<std::string, std::int64_t> labels_;
  std::unordered_set<std::string> missing_words_;
  Missing missing_;
  char decimal_;
};

/// Whether it is a number with a comma in place of a point.
bool has_decimal_comma(std::string_view text);

/// What helps with words where numbers are expected: "; --labels No,Yes ...",
/// if they can be names of classes and there are no numbers beside them, whose
/// classes these names would have; may be empty.
std::string word_advice(const std::set<std::string>& words, bool can_be_label,
                        bool has_numbers);

/// As it is shown; texts get quotes.
struct RefusedValue {
  std::string shown;
  bool is_text = true;
  bool can_be_label = false;
  bool is_there = true;
};

/// The fields of files that cannot be read: the first five, and how many there
/// are.
class RefusedFields {
 public:
  /// `column` is "column 'a'" or "key 'a'".
  void add(const std::string& path, std::int64_t line,
           const std::string& column, const std::string& expected,
           const RefusedValue& value);
  bool empty() const { return count_ == 0; }
  /// Some of the different texts in the first one's column.
  const std::set<std::string>& texts() const { return texts_; }
  bool can_be_labels() const { return can_be_label_; }
  /// Throws c10::ValueError that names them.
  [[noreturn]] void fail(const std::string& advice) const;

 private:
  std::string path_;    // of the last place
  std::string column_;  // of the first one, whose texts are kept
  std::string last_column_;
  std::string first_;
  std::string others_;
  std::set<std::string> texts_;
  bool can_be_label_ = true;
  std::int64_t count_ = 0;
};

}  // namespace tally::files
