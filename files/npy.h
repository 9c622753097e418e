#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/files/input_file.h"
#include "tally/files/long_double.h"

namespace tally::files {

/// The contents of a .npy file's header.
struct NpyHeader {
  char kind = 0;  ///< NumPy's: b, i, u, f or c
  std::int64_t item_size = 0;
  bool swapped = false;  ///< the byte order differs from this machine's
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

  std::string dtype() const;  ///< "float32"
};

/// Parses the header's dictionary, "{'descr': '<f4', ...}". Throws
/// c10::ValueError if it is malformed.
NpyHeader parse_npy_header(std::string_view text);

/// Whether a file begins as .npy files do.
bool is_npy(const std::string& path);

/// An array in a .npy file (format 1.0, 2.0 or 3.0), of any of NumPy's numeric
/// dtypes, in either byte order and in C or Fortran order. It is read row by
/// row: only the rows asked for are in memory. For one thread at a time.
///
/// Example:
///     files::NpyFile file("preds.npy");
///     for (std::int64_t row = 0; row < file.rows(); row += 1000) {
///       metric.update(file.read(row, std::min(row + 1000, file.rows())));
///     }
class NpyFile {
 public:
  /// Throws c10::ValueError unless the file is such an array with at least one
  /// dimension and non-empty rows, and its size matches its header exactly.
  /// longdouble of 16 bytes is read once to tell whether x86-64 or ARM64 wrote
  /// it; c10::ValueError if its bytes do not say (LongDoubleEvidence).
  explicit NpyFile(std::string path) : NpyFile(InputFile(std::move(path))) {}
  explicit NpyFile(InputFile file);

  const std::string& path() const { return file_.path(); }
  const NpyHeader& header() const { return header_; }
  std::int64_t rows() const { return header_.shape.front(); }
  std::int64_t bytes_per_row() const { return row_items_ * header_.item_size; }
  /// Rows [begin, end) as [end - begin, ...], contiguous. Dtypes that metrics
  /// do not take are widened: uint16 to int32, uint32 and uint64 to int64
  /// (c10::ValueError for values that do not fit); longdouble becomes float64,
  /// the same on every machine.
  at::Tensor read(std::int64_t begin, std::int64_t end) const;

 private:
  void find_long_double();
  /// That the values, of rows from `begin` on, are no larger than int64's.
  void check_unsigned(const at::Tensor& values, std::int64_t begin) const;
  /// The bytes of rows in file order.
  void read_items(std::int64_t begin, std::int64_t count, char* into) const;

  InputFile file_;
  NpyHeader header_;
  std::int64_t data_begin_ = 0;
  std::int64_t row_items_ = 1;
  LongDouble long_double_ = LongDouble::kX86;
};

/// The rows of one array or of several of the same dtype, one after the other.
class NpyFiles {
 public:
  /// Throws c10::ValueError for rows of different sizes or dtypes.
  explicit NpyFiles(std::vector<NpyFile> files);

  const std::string& path() const { return files_.front().path(); }
  const NpyHeader& header() const { return files_.front().header(); }
  std::int64_t rows() const;
  std::int64_t bytes_per_row() const { return files_.front().bytes_per_row(); }
  at::Tensor read(std::int64_t begin, std::int64_t end) const;
  /// "x.npy, row 7"; rows are counted from 0, as in NumPy.
  std::string place(std::int64_t row) const;

 private:
  std::vector<NpyFile> files_;
};

/// The arrays of a .npz file, as numpy.savez and numpy.savez_compressed write
/// it.
class NpzFile {
 public:
  /// Throws c10::ValueError for another file.
  explicit NpzFile(const std::string& path);

  /// In the order of the file.
  const std::vector<std::string>& names() const { return names_; }
  /// An array by its place in names(). Compressed ones are decompressed into a
  /// temporary file.
  NpyFile open(std::size_t place) const;

 private:
  struct Entry {
    std::int64_t offset = 0;  // of the local header
    std::int64_t packed = 0;
    std::int64_t size = 0;
    std::uint32_t checksum = 0;
    bool is_packed = false;
  };

  std::int64_t read_directory_place(std::int64_t& size) const;
  void add_entry(std::string_view header, std::size_t name_size,
                 std::size_t extra_size);
  InputFile unpacked(const Entry& entry, std::int64_t begin,
                     const std::string& name) const;

  InputFile file_;
  std::vector<std::string> names_;
  std::vector<Entry> entries_;
};

}  // namespace tally::files
