#pragma once

#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tally/files/input_file.h"

namespace tally::files {

/// Iterates over the records of a CSV file according to RFC 4180: fields may be
/// "quoted" to contain delimiters, line ends and "" for a quote. Empty lines
/// and a byte order mark are skipped.
class CsvRecords {
 public:
  /// Continues with the first record of a file, which must outlive its use.
  void open(const InputFile& file, char delimiter);
  char delimiter() const { return delimiter_; }
  void set_delimiter(char delimiter) { delimiter_ = delimiter; }

  /// Advances to the next record; false at the end of the file.
  bool next();
  /// Calls `field(index, text)` for each field and returns their number.
  std::size_t fields(
      c10::function_ref<void(std::size_t, std::string_view)> field);

  /// All of the record.
  std::string_view text() const {
    return std::string_view(buffer_).substr(record_begin_,
                                            record_end_ - record_begin_);
  }
  /// Start of the record: its first line (from 1) and byte.
  std::int64_t line() const { return line_; }
  std::int64_t offset() const { return buffer_offset_ + record_begin_; }
  /// Continues with the record that starts there.
  void seek(std::int64_t offset, std::int64_t line);

  /// Throws c10::ValueError prefixed with the file and line.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void find_end();
  void end_record(std::size_t end, std::size_t next_begin);
  bool read_more();
  /// The field whose text starts at `at`; moves `at` past its closing quote.
  std::string_view quoted_field(std::size_t& at);

  const InputFile* file_ = nullptr;
  char delimiter_ = ',';
  std::string buffer_;
  std::int64_t buffer_offset_ = 0;  // of its start, in the file
  std::size_t record_begin_ = 0;
  std::size_t record_end_ = 0;  // without the line end
  std::size_t next_begin_ = 0;
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 1;
  std::string unquoted_;
};

}  // namespace tally::files
