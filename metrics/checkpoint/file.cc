#include "tally/metrics/checkpoint/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <utility>

namespace tally::internal {

namespace {

constexpr const char* kUnwritable = "cannot be written";
constexpr const char* kUnreadable = "cannot be read";
// How many can write the same file at a time.
constexpr int kWriters = 8;
constexpr int kMostLinks = 40;

absl::Status io_error(const std::string& path, const char* what,
                      int error = errno) {
  const std::string message = path + ": " + what + ": " + std::strerror(error);
  if (error == ENOENT) return absl::NotFoundError(message.c_str());
  if (error == EACCES || error == EPERM || error == EROFS) {
    return absl::PermissionDeniedError(message.c_str());
  }
  if (error == ENOSPC || error == EDQUOT || error == ENOMEM) {
    return absl::ResourceExhaustedError(message.c_str());
  }
  return absl::UnavailableError(message.c_str());
}

absl::Status not_a_file(const std::string& path, mode_t mode) {
  const char* kind = S_ISDIR(mode)                    ? "folder"
                     : S_ISFIFO(mode)                 ? "pipe"
                     : S_ISCHR(mode) || S_ISBLK(mode) ? "device"
                                                      : "socket";
  const std::string message = path + ": expected a file, got a " + kind;
  return absl::InvalidArgumentError(message.c_str());
}

// Closes a file descriptor unless it was closed before.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }
  bool close() {
    return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0;
  }

 private:
  int descriptor_;
};

/// All of them, unless the file is shorter than it was.
bool read_bytes(int descriptor, char* bytes, std::int64_t count,
                std::int64_t offset) {
  while (count > 0) {
    const ssize_t got =
        ::pread(descriptor, bytes, static_cast<std::size_t>(count), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = EIO;
    if (got <= 0) return false;
    bytes += got;
    offset += got;
    count -= got;
  }
  return true;
}

/// What a link, or a link to a link, points to, whether that exists or not.
std::string followed(std::filesystem::path path) {
  std::error_code none;
  for (int links = 0; links < kMostLinks; ++links) {
    const std::filesystem::path target =
        std::filesystem::read_symlink(path, none);
    if (none) break;
    path = path.parent_path() / target;  // `target` alone if it is absolute
  }
  return path;
}

std::string beside(const std::string& path, int writer) {
  return path + ".tally-writes-" + std::to_string(writer);
}

/// A writer holds a lock, which ends with its process.
void remove_if_left(const std::string& path) {
  const File file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.valid() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
    ::unlink(path.c_str());
  }
}

bool has_name(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

/// A new file and its name; -1 with errno set.
std::pair<int, std::string> create_beside(const std::string& path) {
  for (int writer = 0; writer < kWriters; ++writer) {
    remove_if_left(beside(path, writer));
  }
  for (int writer = 0; writer < kWriters;) {
    std::string name = beside(path, writer);
    const int descriptor =
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) return {-1, name};
    if (descriptor >= 0) {
      ::flock(descriptor, LOCK_EX);
      // Before it was locked, it looked as if it had been left.
      if (has_name(descriptor)) return {descriptor, name};
      ::close(descriptor);
    } else {
      ++writer;
    }
  }
  errno = EBUSY;
  return {-1, path};
}

}  // namespace

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

absl::Status write_file(const std::string& path, std::string_view bytes) {
  const std::string target = followed(path);
  struct stat status {};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) return io_error(path, kUnwritable);
  if (exists && !S_ISREG(status.st_mode)) {
    return not_a_file(path, status.st_mode);
  }
  auto [descriptor, temporary] = create_beside(target);
  File file(descriptor);
  if (!file.valid()) return io_error(path, kUnwritable);
  const bool written =
      (!exists || ::fchmod(file.get(), status.st_mode & 07777) == 0) &&
      write_all(file.get(), bytes) && ::fsync(file.get()) == 0 &&
      std::rename(temporary.c_str(), target.c_str()) == 0;
  if (written) return absl::OkStatus();
  const int error = errno;
  ::unlink(temporary.c_str());
  return io_error(path, kUnwritable, error);
}

absl::Status read_file(
    const std::string& path, std::string& bytes,
    c10::function_ref<absl::Status(std::string_view head, std::int64_t size)>
        check) {
  // Without O_NONBLOCK, opening a pipe would wait for someone to write to it.
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return io_error(path, kUnreadable);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return io_error(path, kUnreadable);
  if (!S_ISREG(status.st_mode)) return not_a_file(path, status.st_mode);
  const std::int64_t size = status.st_size;
  char head[kHead];
  const std::int64_t known = std::min(size, kHead);
  if (!read_bytes(file.get(), head, known, 0))
    return io_error(path, kUnreadable);
  const absl::Status checked =
      check(std::string_view(head, static_cast<std::size_t>(known)), size);
  if (!checked.ok()) return checked;
  try {
    bytes.resize(static_cast<std::size_t>(size));
  } catch (const std::exception&) {  // too long, or too long for this machine
    return io_error(path, kUnreadable, ENOMEM);
  }
  if (!read_bytes(file.get(), bytes.data(), size, 0)) {
    return io_error(path, kUnreadable);
  }
  return absl::OkStatus();
}

}  // namespace tally::internal
