#pragma once

#include <cstdint>
#include <vector>

namespace tally::internal::audio {

/// Complex numbers, real and imaginary parts apart.
struct ComplexValues {
  explicit ComplexValues(std::int64_t size = 0)
      : re(static_cast<std::size_t>(size)),
        im(static_cast<std::size_t>(size)) {}

  std::vector<double> re, im;
};

/// Fourier transforms of one size. Unlike LibTorch's, the result of one does
/// not depend on the number of threads.
class FourierTransform {
 public:
  /// REQUIRES: size is a power of two.
  explicit FourierTransform(std::int64_t size);

  std::int64_t size() const { return size_; }
  /// X[k] = sum_n x[n] exp(-2 pi i k n / size), in place. `work` is of any
  /// size, and is overwritten.
  void transform(ComplexValues& values, ComplexValues& work) const;

 private:
  // exp(-2 pi i p / count), p below count / 4, and its square and cube.
  struct Turns {
    std::int64_t count;
    ComplexValues once, twice, thrice;
  };

  std::int64_t size_;
  std::vector<Turns> turns_;  // of each pass over four parts
};

}  // namespace tally::internal::audio
