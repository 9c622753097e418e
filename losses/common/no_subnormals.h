#pragma once

#include <cstdint>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace tally::losses::internal {

/// Flushes subnormal results on this thread to 0 during its lifetime: they
/// occur in gradients of well-separated pairs, and would slow down matrix
/// products a hundredfold. On processors other than x86-64 and ARM64, does
/// nothing.
class NoSubnormals {
 public:
  NoSubnormals() { set(before_ | kFlush); }
  ~NoSubnormals() { set(before_); }
  NoSubnormals(const NoSubnormals&) = delete;
  NoSubnormals& operator=(const NoSubnormals&) = delete;

 private:
#if defined(__SSE__)
  static constexpr std::uint64_t kFlush = _MM_FLUSH_ZERO_ON;
  static std::uint64_t get() { return _mm_getcsr(); }
  static void set(std::uint64_t state) {
    _mm_setcsr(static_cast<unsigned>(state));
  }
#elif defined(__aarch64__)
  static constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;  // FPCR.FZ
  static std::uint64_t get() {
    std::uint64_t state;
    asm volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void set(std::uint64_t state) {
    asm volatile("msr fpcr, %0" : : "r"(state));
  }
#else
  static constexpr std::uint64_t kFlush = 0;
  static std::uint64_t get() { return 0; }
  static void set(std::uint64_t) {}
#endif

  std::uint64_t before_ = get();
};

}  // namespace tally::losses::internal
