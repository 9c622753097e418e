#include "tally/tests/fuzz/support.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace tally::fuzz {

void require(bool kept, const char* promise) {
  if (!kept) throw std::logic_error(promise);
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) {
    return false;
  }
  return a.numel() == 0 ||
         std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

MemoryFile::MemoryFile(std::string_view bytes)
    : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
  if (descriptor_ < 0 || write(descriptor_, bytes.data(), bytes.size()) !=
                             static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("cannot make a file in memory");
  }
}

MemoryFile::~MemoryFile() { close(descriptor_); }

std::string MemoryFile::path() const {
  return "/proc/self/fd/" + std::to_string(descriptor_);
}

}  // namespace tally::fuzz
