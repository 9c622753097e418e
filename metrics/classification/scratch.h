#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tally::internal {

/// Memory for one pass over many samples, not initialised. It asks for large
/// pages: most of the time of a first touch is the kernel's.
template <class T>
class Scratch {
  static_assert(std::is_trivial_v<T>);

 public:
  Scratch() = default;
  explicit Scratch(std::size_t size) : data_(allocate(size * sizeof(T))) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  static constexpr std::size_t kPage = std::size_t{1} << 21;

  static T* allocate(std::size_t bytes) {
    void* memory = nullptr;
    if (bytes < kPage) {
      memory = std::malloc(bytes == 0 ? 1 : bytes);
    } else {
      const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
      memory = std::aligned_alloc(kPage, whole);
#if defined(__linux__)
      if (memory != nullptr) madvise(memory, whole, MADV_HUGEPAGE);
#endif
    }
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }

  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> data_;
};

}  // namespace tally::internal
