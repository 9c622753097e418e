#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tally/files/input_file.h"

namespace tally::files {

/// The lines of a file in UTF-8. They end at LF only: U+2028 and U+0085, which
/// other programs take for line ends, belong to a line, as does CR, except one
/// right before LF. A byte order mark at the start of the file is left out. The
/// whole file is read and validated once; after that, only the requested lines
/// are in memory. For one thread at a time.
///
/// Example:
///     files::TextFile file("translations.txt");
///     const std::vector<std::string> lines = file.read(0, file.rows());
class TextFile {
 public:
  /// Throws c10::ValueError, naming line and byte, for what is not UTF-8.
  explicit TextFile(std::string path);

  const std::string& path() const { return file_.path(); }
  std::int64_t rows() const {
    return static_cast<std::int64_t>(starts_.size()) - 1;
  }
  std::int64_t bytes_per_row() const;
  bool has_mark() const { return has_mark_; }
  /// Lines [begin, end).
  std::vector<std::string> read(std::int64_t begin, std::int64_t end) const;

 private:
  void scan();
  void check(std::string_view line) const;

  InputFile file_;
  bool has_mark_ = false;
  // Where each line starts, and where the last one ends.
  std::vector<std::int64_t> starts_;
};

/// "x.txt, line 7" of a row, the lines of which are counted from 1.
std::string line_place(const TextFile& file, std::int64_t row);

/// What to tell users of files with a byte order mark; empty for others.
std::string mark_remark(const TextFile& file);

}  // namespace tally::files
