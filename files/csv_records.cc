#include "tally/files/csv_records.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>

#include "tally/files/file_kind.h"

namespace tally::files {
namespace {

constexpr std::int64_t kChunk = 1 << 18;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

void CsvRecords::open(const InputFile& file, char delimiter) {
  file_ = &file;
  delimiter_ = delimiter;
  seek(0, 1);
}

void CsvRecords::fail(const std::string& what) const {
  TORCH_CHECK_VALUE(false, file_->path(), ", line ", line_, ": ", what);
}

void CsvRecords::seek(std::int64_t offset, std::int64_t line) {
  buffer_.clear();
  buffer_offset_ = offset;
  record_begin_ = record_end_ = next_begin_ = 0;
  next_line_ = line;
}

bool CsvRecords::read_more() {
  const std::int64_t offset =
      buffer_offset_ + static_cast<std::int64_t>(buffer_.size());
  const std::int64_t count = std::min(kChunk, file_->size() - offset);
  if (count <= 0) return false;
  buffer_.erase(0, record_begin_);
  buffer_offset_ += static_cast<std::int64_t>(record_begin_);
  record_begin_ = 0;
  const std::size_t size = buffer_.size();
  buffer_.resize(size + count);
  file_->read(offset, buffer_.data() + size, count);
  return true;
}

bool CsvRecords::next() {
  do {
    record_begin_ = next_begin_;
    line_ = next_line_;
    if (record_begin_ == buffer_.size() && !read_more()) return false;
    if (offset() == 0 &&
        buffer_.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0) {
      record_begin_ = kByteOrderMark.size();
    }
    find_end();
  } while (record_begin_ == record_end_);
  return true;
}

void CsvRecords::find_end() {
  // Most lines have no quotes, and their ends are found many bytes at a time.
  const std::size_t line_end = buffer_.find('\n', record_begin_);
  if (line_end != buffer_.npos &&
      std::memchr(buffer_.data() + record_begin_, '"',
                  line_end - record_begin_) == nullptr) {
    ++next_line_;
    end_record(line_end, line_end + 1);
    return;
  }
  bool in_quotes = false;
  bool is_quoted = false;
  bool is_begin = true;
  std::size_t length = 0;
  bool at_end = false;
  for (;; ++length) {
    if (record_begin_ + length == buffer_.size() && !read_more()) {
      at_end = true;
      break;
    }
    const char c = buffer_[record_begin_ + length];
    next_line_ += c == '\n';
    if (in_quotes) {
      in_quotes = c != '"';
    } else if (c == '"' && (is_begin || is_quoted)) {
      in_quotes = is_quoted = true;
    } else if (c == '\n') {
      break;
    } else if (c == delimiter_) {
      is_quoted = false;
    }
    is_begin = c == delimiter_ && !in_quotes;
  }
  if (in_quotes) fail("expected a closing \"");
  const std::size_t end = record_begin_ + length;
  end_record(end, end + (at_end ? 0 : 1));
}

void CsvRecords::end_record(std::size_t end, std::size_t next_begin) {
  record_end_ = end;
  next_begin_ = next_begin;
  if (end > record_begin_ && buffer_[end - 1] == '\r') --record_end_;
}

std::string_view CsvRecords::quoted_field(std::size_t& at) {
  unquoted_.clear();
  while (true) {
    const std::size_t quote = buffer_.find('"', at);
    unquoted_.append(buffer_, at, quote - at);
    at = quote + 1;
    if (at >= record_end_ || buffer_[at] != '"') break;
    unquoted_ += '"';
    ++at;
  }
  if (at < record_end_ && buffer_[at] != delimiter_) {
    const std::string wanted =
        delimiter_ == ',' ? "a comma" : "'" + std::string(1, delimiter_) + "'";
    fail("expected " + wanted + " after \"" + shown_text(unquoted_) + "\"");
  }
  return unquoted_;
}

std::size_t CsvRecords::fields(
    c10::function_ref<void(std::size_t, std::string_view)> field) {
  std::size_t count = 0;
  for (std::size_t at = record_begin_;; ++at) {
    if (at < record_end_ && buffer_[at] == '"') {
      ++at;
      field(count++, quoted_field(at));
    } else {
      const std::size_t begin = at;
      at = std::min(buffer_.find(delimiter_, begin), record_end_);
      field(count++, std::string_view(buffer_).substr(begin, at - begin));
    }
    if (at >= record_end_) return count;
  }
}

}  // namespace tally::files
