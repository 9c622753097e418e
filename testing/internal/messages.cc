#include "tally/testing/internal/messages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tally/testing/internal/call_status.h"

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

struct CallStatus::Page {
  std::int64_t call;  ///< -1: in none
  std::int64_t entered;
  char collective[32];
};

CallStatus::CallStatus(const std::string& path) {
  const int file = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (ftruncate(file, sizeof(Page)) == 0) {
    void* memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE,
                        MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) {
      page_ = static_cast<Page*>(memory);
      page_->call = -1;
    }
  }
  close(file);
}

CallStatus::~CallStatus() {
  if (page_ != nullptr) munmap(page_, sizeof(Page));
}

void CallStatus::enter(const char* collective, std::int64_t call) noexcept {
  if (page_ == nullptr) return;
  std::strncpy(page_->collective, collective, sizeof page_->collective - 1);
  page_->call = call;
  page_->entered = call + 1;
}

void CallStatus::leave() noexcept {
  if (page_ != nullptr) page_->call = -1;
}

std::string CallStatus::read(const std::string& path) {
  Page page{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(&page), sizeof page)) return "";
  if (page.call >= 0) {
    page.collective[sizeof page.collective - 1] = '\0';
    return std::string("waits in ") + page.collective + ", collective " +
           std::to_string(page.call) + " of its group, counted from 0";
  }
  return "is in no collective of its group, of which it entered " +
         std::to_string(page.entered);
}

}  // namespace tally::testkit::internal
