#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tally/files/csv_options.h"
#include "tally/files/csv_records.h"
#include "tally/files/input_file.h"

namespace tally::files {

/// Whether fields are read as integers (int64), as float64, as integers if all
/// of them are integers, or as text.
enum class CsvKind { kIntegers, kFloats, kEither, kTexts };

/// Columns of a CSV file, as tensors of its rows or as texts. The whole file is
/// read and validated once; after that, only the requested rows are in memory.
/// For one thread at a time.
///
/// Example:
///     files::CsvFile file("predictions.csv", "score,label");
///     file.scan({files::CsvKind::kFloats, files::CsvKind::kIntegers});
///     const std::vector<at::Tensor> columns = file.read(0, file.rows());
///     metric.update(columns[0], columns[1]);
class CsvFile {
 public:
  /// `columns` is a list "a,b" with one item per input: a column's name in the
  /// first line, "first:last" for several columns, which give an input [N,
  /// columns], or @1 for the first column of a file without names in its first
  /// line. Either all or none have the input's name in front,
  /// "preds=a,target=b". If empty, every column is an input. Throws
  /// c10::ValueError.
  CsvFile(std::string path, const std::string& columns,
          CsvOptions options = CsvOptions());

  const std::string& path() const { return file_.path(); }
  /// The fields of the first line.
  const std::vector<std::string>& header() const { return names_; }
  /// Replaces the inputs of the constructor by named ones, each a single column
  /// given by its index in header().
  void choose(const std::vector<std::pair<std::string, std::size_t>>& columns);
  /// Adds columns that are read as texts, behind the inputs.
  void add_keys(const std::vector<std::string>& columns);
  /// The inputs as written in `columns`.
  const std::vector<std::string>& inputs() const { return inputs_; }
  /// Their names, or empty.
  const std::vector<std::string>& names() const { return input_names_; }
  /// Reads the file for the first time. Throws c10::ValueError that names the
  /// line and column of an invalid field.
  void scan(const std::vector<CsvKind>& kinds);
  /// Number of columns of an input given as "first:last"; 0 for a single
  /// column.
  std::size_t width(std::size_t input) const { return widths_[input]; }
  std::int64_t rows() const { return rows_; }
  /// Number of rows dropped by Missing::kSkip.
  std::int64_t skipped() const { return skipped_; }
  std::int64_t bytes_per_row() const;

  /// Rows [begin, end) as int64 or float64; text inputs are undefined tensors.
  std::vector<at::Tensor> read(std::int64_t begin, std::int64_t end);
  /// The line in the file, from 1, on which a row starts. REQUIRES: scan().
  std::int64_t line_of(std::int64_t row);
  /// The texts of an input in these rows: for each row, those of its columns.
  std::vector<std::vector<std::string>> take_texts(std::size_t input) {
    return std::move(texts_[input]);
  }

 private:
  struct Use {
    std::size_t input;
    std::size_t position;
  };
  /// Position of every kRowsPerMark-th row, so that reading need not start at
  /// the first.
  struct Mark {
    std::int64_t offset;
    std::int64_t line;
  };

  void find_columns(const std::string& columns);
  std::size_t find_column(const std::string& name);
  void add_input(const std::string& text, std::size_t first, std::size_t last);
  std::optional<std::int64_t> to_integer(std::string_view text) const;
  std::optional<double> to_number(std::string_view text) const;
  bool next_row(std::int64_t& skipped);
  bool lacks_field();
  void check_row(std::vector<bool>& all_integers);
  void store_row(std::int64_t row, std::vector<at::Tensor>& into);
  [[noreturn]] void refuse(std::size_t column, const char* expected,
                           std::string_view got) const;
  const char* integer_words() const;
  void go_to(std::int64_t row);

  CsvOptions options_;
  std::unordered_map<std::string, std::int64_t> labels_;
  InputFile file_;
  CsvRecords records_;
  bool has_names_ = true;
  std::vector<std::string> names_;
  std::vector<std::string> inputs_;
  std::vector<std::string> input_names_;
  std::vector<std::size_t> widths_;     // in columns; 0 for a single one
  std::vector<std::vector<Use>> uses_;  // of columns
  std::vector<CsvKind> kinds_;          // of inputs; no kEither after scan()
  // Of inputs, of rows read last, of columns.
  std::vector<std::vector<std::vector<std::string>>> texts_;
  std::int64_t text_bytes_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t skipped_ = 0;
  std::int64_t next_row_ = -1;
  std::vector<Mark> marks_;
};

}  // namespace tally::files
