#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

namespace tally::fuzz {

/// Throws std::logic_error unless the promise was kept.
void require(bool kept, const char* promise);

/// The same dtype, sizes and bits.
bool same_bits(const at::Tensor& a, const at::Tensor& b);

/// A file that exists in memory alone, for readers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const;

 private:
  int descriptor_;
};

}  // namespace tally::fuzz
