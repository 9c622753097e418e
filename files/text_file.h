#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/files/input_file.h"

namespace tally::files {

/// The lines of a file in UTF-8. They end at LF only: U+2028 and U+0085, which
/// other programs take for line ends, belong to a line, as does CR, except one
/// right before LF. A byte order mark at the start of the file is skipped. The
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
  /// Drops lines without text at the end.
  void drop_blank_end();

 private:
  void scan();
  void check(std::string_view line) const;

  InputFile file_;
  bool has_mark_ = false;
  // Where each line starts, and where the last one ends.
  std::vector<std::int64_t> starts_;
};

/// What to tell users of files with a byte order mark; empty for others.
std::string mark_remark(const TextFile& file);

/// The lines of one file or of several, one after the other.
class TextFiles {
 public:
  /// Throws c10::ValueError as TextFile does.
  explicit TextFiles(const std::vector<std::string>& paths);

  /// That of the first file.
  const std::string& path() const { return files_.front().path(); }
  std::int64_t rows() const;
  std::int64_t bytes_per_row() const;
  /// From now on these rows are all. In ascending order.
  void keep_only(std::vector<std::int64_t> rows);
  std::vector<std::string> read(std::int64_t begin, std::int64_t end) const;
  void drop_blank_ends();
  /// The file of a row, and its line there, from 1.
  std::pair<const TextFile*, std::int64_t> line(std::int64_t row) const;
  /// "x.txt, line 7".
  std::string place(std::int64_t row) const;
  /// What to tell users of files with a byte order mark; empty for others.
  std::string mark_remark() const;

 private:
  std::vector<std::string> read_all(std::int64_t begin, std::int64_t end) const;

  std::vector<TextFile> files_;
  std::optional<std::vector<std::int64_t>> kept_;
};

}  // namespace tally::files
