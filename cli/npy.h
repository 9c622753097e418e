#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tally/cli/input_file.h"

namespace tally::cli {

/// What the header of a .npy file says.
struct NpyHeader {
  char kind = 0;  ///< NumPy's: b, i, u, f or c
  std::int64_t item_size = 0;
  bool swapped = false;  ///< bytes are in the other order than this machine's
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

  std::string dtype() const;  ///< "float32"
};

/// Reads the header's dictionary, "{'descr': '<f4', ...}". Throws
/// c10::ValueError that says what was expected.
NpyHeader parse_npy_header(std::string_view text);

/// An array in a .npy file (format 1.0, 2.0 or 3.0), of any of NumPy's numeric
/// dtypes, in either byte order and in C or Fortran order. It is read row by
/// row: only the rows asked for are in memory.
class NpyFile {
 public:
  /// Throws c10::ValueError unless the file is such an array of at least one
  /// dimension, with rows that are not empty, and exactly as large as its
  /// header says.
  explicit NpyFile(std::string path);

  const std::string& path() const { return file_.path(); }
  const NpyHeader& header() const { return header_; }
  std::int64_t rows() const { return header_.shape.front(); }
  std::int64_t bytes_per_row() const { return row_items_ * header_.item_size; }
  /// Rows from `begin` up to `end` as [end - begin, ...], contiguous. Dtypes
  /// that metrics do not take become wider ones: uint16 int32, uint32 and
  /// uint64 int64 (c10::ValueError for what does not fit), longdouble float64.
  at::Tensor read(std::int64_t begin, std::int64_t end) const;

 private:
  /// The bytes of rows in the order in which they are in the file.
  void read_items(std::int64_t begin, std::int64_t count, char* into) const;

  InputFile file_;
  NpyHeader header_;
  std::int64_t data_begin_ = 0;
  std::int64_t row_items_ = 1;
};

}  // namespace tally::cli
