#include "tally/files/temporary_file.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tally::files {

TemporaryFile::TemporaryFile() {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path(error);
  TORCH_CHECK_VALUE(!error, "TMPDIR: expected a folder, for temporary files: ",
                    error.message());
  std::string name = folder / "tally-XXXXXX";
  descriptor_ = mkostemp(name.data(), O_CLOEXEC);
  TORCH_CHECK_VALUE(descriptor_ >= 0, name,
                    ": cannot be written: ", std::strerror(errno));
  unlink(name.c_str());
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

void TemporaryFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    TORCH_CHECK_VALUE(
        done >= 0, "a temporary file cannot be written: ", std::strerror(errno),
        "; TMPDIR names another folder for it");
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

std::string TemporaryFile::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" +
         std::to_string(descriptor_);
}

}  // namespace tally::files
