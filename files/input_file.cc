#include "tally/files/input_file.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

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

InputFile::InputFile(std::string path, int descriptor, std::int64_t begin,
                     std::int64_t size)
    : path_(std::move(path)),
      descriptor_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)),
      begin_(begin),
      size_(size) {
  TORCH_CHECK_VALUE(descriptor_ >= 0, path_,
                    ": cannot be opened: ", std::strerror(errno));
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      begin_(other.begin_),
      size_(other.size_) {}

void InputFile::read(std::int64_t offset, void* into,
                     std::int64_t count) const {
  char* next = static_cast<char*>(into);
  while (count > 0) {
    const ssize_t got = pread(descriptor_, next, count, begin_ + offset);
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

}  // namespace tally::files
