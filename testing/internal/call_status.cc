#include "tally/testing/internal/call_status.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

namespace tally::testkit::internal {

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
