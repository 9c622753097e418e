#include "tally/sinks/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "tally/metrics/file.h"
#include "tally/sinks/write_all.h"

namespace tally::internal {
namespace {

absl::Status unwritable(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, (path + ": cannot be written").c_str());
}

bool is_regular_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

LogFile::~LogFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

absl::Status LogFile::open(int flags) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  return descriptor_ >= 0 ? absl::OkStatus() : unwritable(path_, errno);
}

absl::Status LogFile::open_lines(std::string_view head, Choose choose) {
  is_new_ = true;
  if (is_regular_file(path_)) {
    std::string old;
    const absl::Status read = read_file(
        path_, old,
        [](std::string_view, std::int64_t) { return absl::OkStatus(); });
    if (!read.ok()) return read;
    std::string_view rest = old;
    // Of the first line, too, there may be only a part.
    const std::size_t known = std::min(rest.size(), head.size());
    if (rest.substr(0, known) != head.substr(0, known) ||
        (known < head.size() && rest.find('\n') != rest.npos)) {
      const std::string message = path_ + ": expected a log that begins with " +
                                  std::string(head.substr(0, head.find('\n')));
      return absl::InvalidArgumentError(message.c_str());
    }
    std::string kept;
    for (std::size_t end; (end = rest.find('\n')) != rest.npos;) {
      Line choice = Line::kKept;
      const absl::Status chosen = choose(rest.substr(0, end), choice);
      if (!chosen.ok()) return chosen;
      if (choice == Line::kKept) kept += rest.substr(0, end + 1);
      rest.remove_prefix(end + 1);
    }
    is_new_ = kept.empty();
    if (kept.size() != old.size()) {
      const absl::Status written = write_file(path_, kept);
      if (!written.ok()) return written;
    }
  }
  return open(O_APPEND | O_CREAT);
}

absl::Status LogFile::create() { return open(O_CREAT | O_EXCL); }

absl::Status LogFile::append(std::string_view bytes) {
  struct stat before {};
  const bool has_size =
      ::fstat(descriptor_, &before) == 0 && S_ISREG(before.st_mode);
  if (write_all(descriptor_, bytes)) return absl::OkStatus();
  const int error = errno;
  if (has_size && ::ftruncate(descriptor_, before.st_size) != 0) {
    // The next start cuts it.
    return absl::ErrnoToStatus(error, (path_ + ": written in part").c_str());
  }
  return unwritable(path_, error);
}

absl::Status LogFile::close() {
  if (descriptor_ < 0) return absl::OkStatus();
  // Pipes and devices cannot be synced.
  const bool stored = ::fsync(descriptor_) == 0 || errno == EINVAL ||
                      errno == ENOTSUP || errno == EROFS;
  const int error = errno;
  const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
  if (!stored) return unwritable(path_, error);
  return closed ? absl::OkStatus() : unwritable(path_, errno);
}

}  // namespace tally::internal
