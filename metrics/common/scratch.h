#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace tally::internal::classification {

/// Uninitialized memory. Most of the time of a first access is spent in the
/// kernel: large blocks are requested in large pages and cached for the next
/// pass when released, up to kMostKept bytes in total. The kernel may reclaim
/// cached pages.
struct ScratchBlock {
  static constexpr std::size_t kMostKept = std::size_t{1} << 26;

  /// A block of at least this many bytes. Throws std::bad_alloc on failure.
  static ScratchBlock take(std::size_t bytes);
  static void give_back(ScratchBlock block) noexcept;
  /// The number of cached bytes.
  static std::size_t kept();

  void* memory = nullptr;
  std::size_t bytes = 0;
};

/// An array for one pass over many samples.
template <class T>
class Scratch {
  static_assert(std::is_trivial_v<T>);

 public:
  Scratch() = default;
  explicit Scratch(std::size_t size)
      : Scratch(ScratchBlock::take(size * sizeof(T))) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct GiveBack {
    std::size_t bytes = 0;

    void operator()(T* memory) const {
      ScratchBlock::give_back({memory, bytes});
    }
  };

  explicit Scratch(ScratchBlock block)
      : data_(static_cast<T*>(block.memory), GiveBack{block.bytes}) {}

  std::unique_ptr<T, GiveBack> data_;
};

}  // namespace tally::internal::classification
