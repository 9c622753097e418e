#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace tally::internal {

/// Writes all of the bytes, by a single write(2) unless it is interrupted;
/// false with errno set if that fails.
inline bool write_all(int descriptor, std::string_view bytes) {
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

}  // namespace tally::internal
