#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace tally::testkit {

/// A port of 127.0.0.1 that was free a moment ago.
inline std::string free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound =
      bind(fd, generic, length) == 0 && getsockname(fd, generic, &length) == 0;
  close(fd);
  return bound ? std::to_string(ntohs(address.sin_port)) : "none";
}

}  // namespace tally::testkit
