#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/files/csv.h"
#include "tally/files/text_file.h"
#include "tally/metrics/inputs.h"

namespace tally::files {

/// Inputs in a file of JSON lines: an object in each line, whose values are
/// texts, lists of texts, numbers, or true and false. The whole file is read
/// and validated once; after that, only the requested rows are in memory. For
/// one thread at a time.
///
/// Example:
///     files::JsonLines file("answers.jsonl", "answer,reference");
///     file.scan({files::CsvKind::kTexts, files::CsvKind::kTexts});
///     const std::vector<InputValue> texts = file.read(0, file.rows());
class JsonLines {
 public:
  /// `columns` is a list "a,b" with the key of each input; either all or none
  /// have the input's name in front, "preds=a,target=b". If empty, every key of
  /// the first line is an input. Throws c10::ValueError.
  JsonLines(std::string path, const std::string& columns);

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
  /// Reads the file for the first time. Throws c10::ValueError that names the
  /// line and the key of an invalid value.
  void scan(const std::vector<CsvKind>& kinds);
  /// Whether an input of texts has lists of them, and texts alone.
  bool has_lists(std::size_t input) const { return has_lists_[input]; }
  bool has_texts(std::size_t input) const { return has_texts_[input]; }
  std::int64_t rows() const { return file_.rows(); }
  std::int64_t bytes_per_row() const { return file_.bytes_per_row(); }
  const TextFile& file() const { return file_; }
  /// Rows [begin, end) of each input. REQUIRES: scan().
  std::vector<InputValue> read(std::int64_t begin, std::int64_t end);
  /// The ids in these rows, key by key: integers as decimal numbers, so that
  /// they are those of a column of a CSV file.
  std::vector<std::vector<std::string>> take_ids() { return std::move(ids_); }

 private:
  void check_key(const std::string& key) const;
  [[noreturn]] void fail(std::int64_t row, const std::string& what) const;

  TextFile file_;
  std::vector<std::string> keys_;
  std::vector<std::string> inputs_;
  std::vector<std::string> names_;
  std::vector<CsvKind> kinds_;
  std::vector<bool> has_lists_;
  std::vector<bool> has_texts_;
  std::vector<std::string> id_keys_;
  std::vector<std::vector<std::string>> ids_;  // of the rows read last
};

}  // namespace tally::files
