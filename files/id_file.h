#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tally/files/npy.h"
#include "tally/files/text_file.h"

namespace tally::files {

/// The ids of rows in a file of their own: a .npy file of integers [N], or a
/// text file with an id in each line.
class IdFile {
 public:
  /// Throws c10::ValueError for another file.
  explicit IdFile(const std::string& path);

  std::int64_t rows() const;
  std::int64_t bytes_per_row() const;
  const std::string& path() const;
  /// The ids of rows [begin, end), integers as decimal numbers: the same ids
  /// as in a column of a CSV file.
  std::vector<std::string> read(std::int64_t begin, std::int64_t end) const;

 private:
  std::variant<std::unique_ptr<NpyFile>, std::unique_ptr<TextFile>> file_;
};

}  // namespace tally::files
