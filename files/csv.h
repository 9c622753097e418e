#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/files/csv_options.h"
#include "tally/files/csv_records.h"
#include "tally/files/csv_values.h"
#include "tally/files/input_file.h"

namespace tally::files {

/// How the fields of an input are read.
enum class CsvKind {
  kIntegers,  ///< int64
  kFloats,    ///< float64
  kEither,    ///< as integers if all of them are, else as float64
  kTexts,
  /// Integers that only tell things apart, or, unless all fields are integers,
  /// the 64-bit hashes of texts that SampleIds has.
  kKeys,
  /// As kEither, or, unless all fields are numbers, the numbers of their texts
  /// in ascending order, from 0.
  kNumbered,
};

/// For each input whether it may have classes: those that may be integers.
std::vector<bool> classes_of(const std::vector<CsvKind>& kinds);

/// Columns of a CSV file, or of several with the same columns one after the
/// other, as tensors of rows or as texts. All is read and validated once; after
/// that, only the requested rows are in memory. For one thread at a time.
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
  /// line. Names with commas or colons are "in quotes", as in CSV. Either all
  /// or none have the input's name in front, "preds=a,target=b". If empty,
  /// every column is an input. Throws c10::ValueError.
  CsvFile(const std::string& path, const std::string& columns,
          CsvOptions options = CsvOptions())
      : CsvFile(std::vector<std::string>{path}, columns, std::move(options)) {}
  CsvFile(std::vector<std::string> paths, const std::string& columns,
          CsvOptions options = CsvOptions());

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
  /// Reads the files for the first time. Throws c10::ValueError that names
  /// file, line and column of the first five invalid fields, says how many more
  /// there are, and which option helps: --labels for inputs that have classes
  /// (default: all that may be integers).
  void scan(const std::vector<CsvKind>& kinds,
            std::vector<bool> have_classes = {});
  /// Number of columns of an input given as "first:last"; 0 for a single
  /// column.
  std::size_t width(std::size_t input) const { return widths_[input]; }
  std::int64_t rows() const { return rows_; }
  /// Number of rows dropped by Missing::kSkip.
  std::int64_t skipped() const { return skipped_; }
  std::int64_t bytes_per_row() const;

  /// Rows [begin, end) as int64 or float64; text inputs are undefined tensors.
  std::vector<at::Tensor> read(std::int64_t begin, std::int64_t end);
  /// "x.csv, line 7", where a row starts; lines are counted from 1.
  /// REQUIRES: scan().
  std::string place(std::int64_t row);
  /// The columns of an input, as messages name them: "column 'a'".
  std::string column_words(std::size_t input) const;
  /// The texts of a kNumbered input in the order of their numbers; empty if
  /// they are integers.
  const std::set<std::string>& numbered(std::size_t input) const {
    return numbered_[input];
  }
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
    std::size_t file;
    std::int64_t offset;
    std::int64_t line;
  };

  /// Opens a file and reads its first line.
  void open_file(std::size_t index);
  void take_separator();
  void check_line_end() const;
  /// Opens a file and goes to its first row.
  void begin_file(std::size_t index);
  void find_columns(const std::string& columns);
  std::size_t find_column(const std::string& name);
  void add_input(const std::string& text, std::size_t first, std::size_t last);
  bool next_row(std::int64_t& skipped);
  bool lacks_field();
  void check_row(std::vector<bool>& all_integers);
  void check_field(std::size_t column, std::size_t input, std::string_view text,
                   std::vector<bool>& all_integers);
  void check_utf8(std::size_t column, std::string_view text) const;
  void check_key(std::size_t column, std::size_t input, std::string_view text,
                 std::vector<bool>& all_integers);
  void settle_kinds(const std::vector<bool>& all_integers);
  void store_row(std::int64_t row, std::vector<at::Tensor>& into);
  std::int64_t stored_integer(std::size_t column, std::size_t input,
                              std::string_view text);
  void refuse(std::size_t column, std::size_t input, const char* expected,
              std::string_view got);
  [[noreturn]] void refuse_all() const;
  std::string column_name(std::size_t column) const;
  void go_to(std::int64_t row);

  CsvOptions options_;
  CsvValues values_;
  RefusedFields refused_;
  std::size_t first_refused_ = 0;  // the input
  std::vector<std::string> paths_;
  std::size_t file_index_ = 0;
  std::unique_ptr<InputFile> file_;  // the one at file_index_
  CsvRecords records_;
  bool has_names_ = true;
  std::vector<std::string> names_;
  std::vector<std::string> inputs_;
  std::vector<std::string> input_names_;
  std::vector<std::size_t> widths_;     // in columns; 0 for a single one
  std::vector<std::vector<Use>> uses_;  // of columns
  std::vector<CsvKind> kinds_;          // of inputs; no kEither after scan()
  std::vector<bool> have_classes_;      // of inputs
  std::vector<bool> have_numbers_;      // the same, among their fields
  std::vector<std::set<std::string>> numbered_;  // of inputs
  std::vector<bool> has_names_in_;               // of inputs that are kNumbered
  // Of inputs, of rows read last, of columns.
  std::vector<std::vector<std::vector<std::string>>> texts_;
  std::int64_t text_bytes_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t skipped_ = 0;
  std::int64_t next_row_ = -1;
  std::vector<Mark> marks_;
};

}  // namespace tally::files
