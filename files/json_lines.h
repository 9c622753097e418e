#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tally/files/csv.h"
#include "tally/files/csv_values.h"
#include "tally/files/text_file.h"
#include "tally/metrics/inputs.h"

namespace tally::files {

/// Inputs in a file of JSON lines, or in several one after the other: an object
/// in each line, whose values are texts, lists of texts, numbers, lists of as
/// many numbers in each line, or true and false. Missing are keys that an
/// object lacks, null, NaN, and, where numbers are expected, the words of
/// CsvOptions. Lines without text at the end are skipped. All is read and
/// validated once; after that, only the requested rows are in memory. For one
/// thread at a time.
///
/// Example:
///     files::JsonLines file("answers.jsonl", "answer,reference");
///     file.scan({files::CsvKind::kTexts, files::CsvKind::kTexts});
///     const std::vector<InputValue> texts = file.read(0, file.rows());
class JsonLines {
 public:
  /// `columns` is a list "a,b" with the key of each input; either all or none
  /// have the input's name in front, "preds=a,target=b", and keys with commas
  /// are "in quotes". If empty, every key of the first line is an input. Throws
  /// c10::ValueError.
  /// Of the options, the labels and those of missing values apply.
  JsonLines(const std::string& path, const std::string& columns,
            const CsvOptions& options = {})
      : JsonLines(std::vector<std::string>{path}, columns, options) {}
  JsonLines(const std::vector<std::string>& paths, const std::string& columns,
            const CsvOptions& options = {});

  /// The keys of the first line, in its order.
  const std::vector<std::string>& header() const { return keys_; }
  /// Replaces the inputs of the constructor by named ones, by indices in
  /// header().
  void choose(const std::vector<std::pair<std::string, std::size_t>>& columns);
  /// Adds keys whose values are ids: integers, or texts. Throws
  /// c10::ValueError for a key that the first line does not have.
  void add_ids(const std::vector<std::string>& keys);
  /// The keys of the inputs.
  const std::vector<std::string>& inputs() const { return inputs_; }
  /// Their names, or empty.
  const std::vector<std::string>& names() const { return names_; }
  /// Reads the files for the first time. Throws c10::ValueError that names
  /// file, line and key of the first five invalid values, and says how many
  /// more there are, and what helps, as CsvFile does.
  void scan(const std::vector<CsvKind>& kinds,
            std::vector<bool> have_classes = {});
  /// Whether an input of texts has lists of them, and texts alone.
  bool has_lists(std::size_t input) const { return has_lists_[input]; }
  bool has_texts(std::size_t input) const { return has_texts_[input]; }
  std::int64_t rows() const { return file_.rows(); }
  /// Rows that were dropped because of a missing value.
  std::int64_t skipped() const { return skipped_; }
  std::int64_t bytes_per_row() const { return file_.bytes_per_row(); }
  const TextFiles& file() const { return file_; }
  /// The texts of a kNumbered input in the order of their numbers; empty if
  /// they are integers.
  const std::set<std::string>& numbered(std::size_t input) const {
    return numbered_[input];
  }
  /// Rows [begin, end) of each input. REQUIRES: scan().
  std::vector<InputValue> read(std::int64_t begin, std::int64_t end);
  /// The ids in these rows, key by key: integers as decimal numbers, so that
  /// they are those of a column of a CSV file.
  std::vector<std::vector<std::string>> take_ids() { return std::move(ids_); }

 private:
  void find_keys();
  void check_key(const std::string& key) const;
  bool has_key(const std::string& key) const;
  [[noreturn]] void fail(std::int64_t row, const std::string& what) const;
  [[noreturn]] void fail_line(std::int64_t row, const std::string& line) const;
  void scan_line(std::int64_t row, const std::string& line);
  bool lacks_value(const nlohmann::json& object) const;
  bool is_missing(std::size_t input, const nlohmann::json& value) const;
  [[noreturn]] void refuse_all() const;
  void check_value(std::int64_t row, std::size_t input,
                   const nlohmann::json& value);
  void check_list(std::int64_t row, std::size_t input,
                  const nlohmann::json& value);
  void check_number(std::int64_t row, std::size_t input,
                    const nlohmann::json& value);
  void check_name(std::int64_t row, std::size_t input,
                  const nlohmann::json& value);
  void check_category(std::int64_t row, std::size_t input,
                      const nlohmann::json& value);
  void refuse(std::int64_t row, std::size_t input, const std::string& expected,
              const nlohmann::json& value);
  void settle_kinds();
  bool is_integer_of(const nlohmann::json& value) const;
  template <class T>
  T number_of(std::size_t input, const nlohmann::json& value) const;
  template <class T>
  at::Tensor numbers_of(std::size_t input,
                        const std::vector<nlohmann::json>& rows) const;

  TextFiles file_;
  CsvValues values_;
  std::unordered_map<std::string, std::int64_t> labels_;
  bool has_missing_words_;
  std::int64_t skipped_ = 0;
  std::vector<std::int64_t> kept_;  // where some may be skipped
  RefusedFields refused_;
  std::size_t first_refused_ = 0;  // the input
  bool are_texts_refused_ = true;  // and nothing else
  std::vector<std::string> keys_;
  std::vector<std::string> inputs_;
  std::vector<std::string> names_;
  std::vector<CsvKind> kinds_;
  std::vector<bool> have_classes_;  // of inputs
  std::vector<bool> have_numbers_;  // the same, among their values
  std::vector<bool> all_integers_;
  std::vector<bool> has_lists_;  // of texts
  std::vector<bool> has_texts_;
  std::vector<std::set<std::string>> numbered_;
  // Of lists of numbers; 0 for single ones, -1 before the first row.
  std::vector<std::int64_t> widths_;
  std::vector<std::int64_t> width_rows_;  // that say so
  std::vector<std::string> id_keys_;
  std::vector<std::vector<std::string>> ids_;  // of the rows read last
};

}  // namespace tally::files
