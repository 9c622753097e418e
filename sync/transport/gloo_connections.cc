#include "tally/sync/transport/gloo_connections.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "tally/port/gloo.h"
#include "tally/sync/transport/sockets_opened.h"

namespace tally::sync::internal {

void close_connections(c10d::Backend& backend) {
  if (!port::close_gloo_connections(backend)) backend.abort();
}

namespace {

bool is_connection(int descriptor) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  return getsockname(descriptor, reinterpret_cast<sockaddr*>(&address),
                     &length) == 0 &&
         (address.ss_family == AF_INET || address.ss_family == AF_INET6);
}

std::set<int> open_connections() {
  std::set<int> result;
  std::error_code unavailable;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd", unavailable)) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    if (is_connection(descriptor)) result.insert(descriptor);
  }
  return result;
}

}  // namespace

SocketsOpened::SocketsOpened() : before_(open_connections()) {}

void SocketsOpened::close_on_exec() const {
  for (const int descriptor : open_connections()) {
    if (before_.count(descriptor) == 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
}

}  // namespace tally::sync::internal
