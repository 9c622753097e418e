#include "tally/files/text_file.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>

#include "tally/files/file_kind.h"
#include "tally/metrics/text/kernels/unicode.h"

namespace tally::files {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";
constexpr std::int64_t kBlock = 1 << 20;

// Without its end.
std::string_view content(std::string_view line) {
  if (!line.empty() && line.back() == '\n') {
    line.remove_suffix(1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  }
  return line;
}

}  // namespace

TextFile::TextFile(std::string path) : file_(std::move(path)) {
  refuse_other_kinds(file_);
  scan();
}

void TextFile::scan() {
  std::string left;  // of a line that goes on in the next block
  std::int64_t offset = 0;
  starts_.push_back(0);
  while (offset < file_.size()) {
    const std::int64_t count = std::min(kBlock, file_.size() - offset);
    std::size_t begin = 0;
    std::string block(static_cast<std::size_t>(count), '\0');
    file_.read(offset, block.data(), count);
    block.insert(0, left);
    if (offset == 0 && block.compare(0, kMark.size(), kMark) == 0) {
      has_mark_ = true;
      begin = kMark.size();
      starts_[0] = static_cast<std::int64_t>(begin);
    }
    const std::int64_t first = offset - static_cast<std::int64_t>(left.size());
    offset += count;
    for (std::size_t end = block.find('\n', begin); end != block.npos;
         end = block.find('\n', begin)) {
      check(std::string_view(block).substr(begin, end - begin));
      begin = end + 1;
      starts_.push_back(first + static_cast<std::int64_t>(begin));
    }
    left = block.substr(begin);
  }
  if (!left.empty()) {
    check(left);
    starts_.push_back(file_.size());
  }
}

void TextFile::check(std::string_view line) const {
  const std::size_t at = internal::text::find_invalid_utf8(line);
  TORCH_CHECK_VALUE(at == line.size(), path(), ": line ", starts_.size(),
                    ": expected UTF-8, got ",
                    internal::text::byte_words(line[at]), " at byte ", at,
                    "; another encoding is read with --encoding latin-1 or "
                    "windows-1252");
}

std::int64_t TextFile::bytes_per_row() const {
  return static_cast<std::int64_t>(sizeof(std::string)) +
         file_.size() / std::max<std::int64_t>(1, rows());
}

std::vector<std::string> TextFile::read(std::int64_t begin,
                                        std::int64_t end) const {
  std::string bytes(static_cast<std::size_t>(starts_[end] - starts_[begin]),
                    '\0');
  file_.read(starts_[begin], bytes.data(), starts_[end] - starts_[begin]);
  std::vector<std::string> lines;
  lines.reserve(static_cast<std::size_t>(end - begin));
  for (std::int64_t row = begin; row < end; ++row) {
    const std::string_view line = std::string_view(bytes).substr(
        static_cast<std::size_t>(starts_[row] - starts_[begin]),
        static_cast<std::size_t>(starts_[row + 1] - starts_[row]));
    lines.emplace_back(content(line));
  }
  return lines;
}

void TextFile::drop_blank_end() {
  while (rows() > 0 &&
         read(rows() - 1, rows()).front().find_first_not_of(" \t\r") ==
             std::string::npos) {
    starts_.pop_back();
  }
}

std::string mark_remark(const TextFile& file) {
  return file.has_mark()
             ? file.path() + ": skipped the byte order mark at the start\n"
             : "";
}

TextFiles::TextFiles(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) files_.emplace_back(path);
}

std::int64_t TextFiles::rows() const {
  if (kept_) return static_cast<std::int64_t>(kept_->size());
  std::int64_t rows = 0;
  for (const TextFile& file : files_) rows += file.rows();
  return rows;
}

std::int64_t TextFiles::bytes_per_row() const {
  std::int64_t bytes = 0;
  for (const TextFile& file : files_) {
    bytes = std::max(bytes, file.bytes_per_row());
  }
  return bytes;
}

std::vector<std::string> TextFiles::read(std::int64_t begin,
                                         std::int64_t end) const {
  if (!kept_) return read_all(begin, end);
  std::vector<std::string> lines;
  if (begin == end) return lines;
  const std::int64_t first = kept_->at(begin);
  std::vector<std::string> all = read_all(first, kept_->at(end - 1) + 1);
  for (std::int64_t row = begin; row < end; ++row) {
    lines.push_back(std::move(all[(*kept_)[row] - first]));
  }
  return lines;
}

void TextFiles::keep_only(std::vector<std::int64_t> rows) {
  kept_ = std::move(rows);
}

std::vector<std::string> TextFiles::read_all(std::int64_t begin,
                                             std::int64_t end) const {
  std::vector<std::string> lines;
  for (const TextFile& file : files_) {
    const std::int64_t first = std::clamp<std::int64_t>(begin, 0, file.rows());
    const std::int64_t last = std::clamp<std::int64_t>(end, 0, file.rows());
    if (first < last) {
      std::vector<std::string> own = file.read(first, last);
      std::move(own.begin(), own.end(), std::back_inserter(lines));
    }
    begin -= file.rows();
    end -= file.rows();
  }
  return lines;
}

void TextFiles::drop_blank_ends() {
  for (TextFile& file : files_) file.drop_blank_end();
}

std::pair<const TextFile*, std::int64_t> TextFiles::line(
    std::int64_t row) const {
  if (kept_) row = kept_->at(row);
  auto file = files_.begin();
  for (; row >= file->rows() && file + 1 != files_.end(); ++file) {
    row -= file->rows();
  }
  return {&*file, row + 1};
}

std::string TextFiles::place(std::int64_t row) const {
  const auto [file, number] = line(row);
  return file->path() + ", line " + std::to_string(number);
}

std::string TextFiles::mark_remark() const {
  std::string remark;
  for (const TextFile& file : files_) {
    remark += tally::files::mark_remark(file);
  }
  return remark;
}

}  // namespace tally::files
