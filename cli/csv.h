#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tally/cli/csv_records.h"
#include "tally/cli/input_file.h"

namespace tally::cli {

/// Whether fields are read as integers (int64), as float64, as integers if all
/// of them are, or as the texts they are.
enum class CsvKind { kIntegers, kFloats, kEither, kTexts };

/// Columns of a CSV file, as tensors of its rows or as texts. The whole file is
/// read once and checked; then only the rows asked for are in memory.
class CsvFile {
 public:
  /// `columns` are "a,b", one for each input: a column's name in the first
  /// line, "first:last" for several, which give an input [N, columns], or @1
  /// for the first of a file whose first line has no names; all or none of them
  /// with the input's name before it, "preds=a,target=b". Empty: all columns,
  /// each an input. Throws c10::ValueError.
  CsvFile(std::string path, const std::string& columns);

  /// The inputs as given.
  const std::vector<std::string>& inputs() const { return inputs_; }
  /// Their names, or nothing.
  const std::vector<std::string>& names() const { return input_names_; }
  /// Reads the file for the first time. Throws c10::ValueError that names the
  /// line and column of what is no such number.
  void scan(const std::vector<CsvKind>& kinds);
  /// How many columns an input has as "first:last"; 0 for a single one.
  std::size_t width(std::size_t input) const { return widths_[input]; }
  std::int64_t rows() const { return rows_; }
  std::int64_t bytes_per_row() const;

  /// Rows from `begin` up to `end`, as int64 or float64; inputs of texts are
  /// undefined.
  std::vector<at::Tensor> read(std::int64_t begin, std::int64_t end);
  /// The texts of an input in these rows: of each row those of its columns.
  std::vector<std::vector<std::string>> take_texts(std::size_t input) {
    return std::move(texts_[input]);
  }

 private:
  struct Use {
    std::size_t input;
    std::size_t position;
  };
  /// Where some of the rows are, so that reading need not begin at the first.
  struct Mark {
    std::int64_t offset;
    std::int64_t line;
  };

  void find_columns(const std::string& columns);
  std::size_t find_column(const std::string& name);
  void add_input(const std::string& text, std::size_t first, std::size_t last);
  void check_row(std::vector<bool>& all_integers);
  void store_row(std::int64_t row, std::vector<at::Tensor>& into);
  [[noreturn]] void refuse(std::size_t column, const char* expected,
                           std::string_view got) const;
  void go_to(std::int64_t row);

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
  std::int64_t next_row_ = -1;
  std::vector<Mark> marks_;
};

}  // namespace tally::cli
