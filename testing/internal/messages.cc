#include "tally/testing/internal/messages.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace tally::testkit::internal {
namespace {

// Before the two texts.
struct Head {
  std::uint64_t file_size;
  std::uint64_t text_size;
  std::int32_t number;
  std::int32_t line;
  MessageKind kind;
};

}  // namespace

bool send_message(int socket, const Message& message) {
  Head head;
  std::memset(&head, 0, sizeof head);
  head.file_size = message.file.size();
  head.text_size = message.text.size();
  head.number = message.number;
  head.line = message.line;
  head.kind = message.kind;
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes += message.file;
  bytes += message.text;
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count =
        send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

bool MessageReader::read(int socket) {
  char buffer[4096];
  for (;;) {
    const ssize_t count = recv(socket, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes_.append(buffer, static_cast<std::size_t>(count));
    return true;
  }
}

std::optional<Message> MessageReader::next() {
  Head head;
  if (bytes_.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes_.data(), sizeof head);
  const std::size_t size = sizeof head + head.file_size + head.text_size;
  if (bytes_.size() < size) return std::nullopt;
  Message message{head.kind, head.number,
                  bytes_.substr(sizeof head, head.file_size), head.line,
                  bytes_.substr(sizeof head + head.file_size, head.text_size)};
  bytes_.erase(0, size);
  return message;
}

}  // namespace tally::testkit::internal
