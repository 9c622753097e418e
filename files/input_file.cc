#include "tally/files/input_file.h"

#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "tally/files/id_file.h"
#include "tally/files/text_file.h"
#include "tally/metrics/text/kernels/unicode.h"

namespace tally::files {
namespace {

std::map<std::string, std::string>& replacements() {
  static std::map<std::string, std::string> files;
  return files;
}

}  // namespace

void read_instead(const std::string& path, const std::string& file) {
  replacements()[path] = file;
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  const auto other = replacements().find(path_);
  const std::string& file =
      other == replacements().end() ? path_ : other->second;
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  descriptor_ = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  TORCH_CHECK_VALUE(descriptor_ >= 0, path_,
                    ": cannot be opened: ", std::strerror(errno));
  struct stat status {};
  const bool is_file =
      fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  if (!is_file) close(descriptor_);
  TORCH_CHECK_VALUE(is_file, path_, ": expected a file");
  size_ = status.st_size;
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read(std::int64_t offset, void* into,
                     std::int64_t count) const {
  char* next = static_cast<char*>(into);
  while (count > 0) {
    const ssize_t got = pread(descriptor_, next, count, offset);
    if (got < 0 && errno == EINTR) continue;
    TORCH_CHECK_VALUE(got >= 0, path_,
                      ": cannot be read: ", std::strerror(errno));
    TORCH_CHECK_VALUE(got > 0, path_, ": unexpected end of file at byte ",
                      offset);
    next += got;
    offset += got;
    count -= got;
  }
}

std::string read_text(const std::string& path, std::int64_t most) {
  const InputFile file(path);
  TORCH_CHECK_VALUE(file.size() <= most, path, ": expected at most ", most,
                    " bytes, got ", file.size());
  std::string text(file.size(), '\0');
  file.read(0, text.data(), file.size());
  return text;
}

std::string take_input_name(std::string& text) {
  std::size_t end = 0;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
          text[end] == '_')) {
    ++end;
  }
  if (end == 0 || end == text.size() || text[end] != '=') return "";
  std::string name = text.substr(0, end);
  text.erase(0, end + 1);
  return name;
}

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

TextFile::TextFile(std::string path) : file_(std::move(path)) { scan(); }

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
                    internal::text::byte_words(line[at]), " at byte ", at);
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

std::string line_place(const TextFile& file, std::int64_t row) {
  return file.path() + ", line " + std::to_string(row + 1);
}

std::string mark_remark(const TextFile& file) {
  return file.has_mark()
             ? file.path() + ": left out the byte order mark at the start\n"
             : "";
}

namespace {

std::unique_ptr<NpyFile> open_ids(const std::string& path) {
  auto file = std::make_unique<NpyFile>(path);
  const NpyHeader& header = file->header();
  TORCH_CHECK_VALUE(header.kind == 'i' || header.kind == 'u', path,
                    ": expected ids that are integers, got ", header.dtype());
  TORCH_CHECK_VALUE(header.shape.size() == 1, path,
                    ": expected an id for each row, got sizes ",
                    at::IntArrayRef(header.shape));
  return file;
}

}  // namespace

IdFile::IdFile(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  if (ending != ".txt" && (ending == ".npy" || is_npy(path))) {
    file_ = open_ids(path);
  } else {
    file_ = std::make_unique<TextFile>(path);
  }
}

std::int64_t IdFile::rows() const {
  return std::visit([](const auto& file) { return file->rows(); }, file_);
}

std::int64_t IdFile::bytes_per_row() const {
  return std::visit([](const auto& file) { return file->bytes_per_row(); },
                    file_);
}

const std::string& IdFile::path() const {
  return std::visit(
      [](const auto& file) -> const std::string& { return file->path(); },
      file_);
}

std::vector<std::string> IdFile::read(std::int64_t begin,
                                      std::int64_t end) const {
  if (const auto* const texts =
          std::get_if<std::unique_ptr<TextFile>>(&file_)) {
    return (*texts)->read(begin, end);
  }
  const at::Tensor numbers =
      std::get<std::unique_ptr<NpyFile>>(file_)->read(begin, end).to(at::kLong);
  std::vector<std::string> ids;
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    ids.push_back(std::to_string(numbers.const_data_ptr<std::int64_t>()[i]));
  }
  return ids;
}

}  // namespace tally::files
