#pragma once

#include <cstdint>
#include <vector>

namespace tally::internal::audio {

/// Resamples signals by a rational factor, without a delay, by Octave's
/// low-pass filter: a sinc under a Kaiser window.
class Resampler {
 public:
  /// Rates, above 0.
  Resampler(std::int64_t from, std::int64_t to);

  /// Whether both rates are the same: signals stay as they are.
  bool is_identity() const { return up_ == 1 && down_ == 1; }
  /// The number of values that `count` become.
  std::int64_t size_of(std::int64_t count) const {
    return (count * up_ + down_ - 1) / down_;
  }
  /// `count` values become size_of(count). Sums are in a fixed order.
  void resample(const double* values, std::int64_t count, double* result) const;
  /// The adjoint: gradients [size_of(count)] become gradients [count].
  void backward(const double* gradients, std::int64_t count,
                double* result) const;

 private:
  // The taps for a result: values[first + i] times taps[i].
  struct Part {
    const double* taps;
    std::int64_t first, size;
  };
  Part part_of(std::int64_t place, std::int64_t count) const;

  std::int64_t up_, down_;
  std::int64_t half_ = 0;
  // By phase, last tap first, [up, phase_size_].
  std::int64_t phase_size_ = 0;
  std::vector<double> phases_;
};

}  // namespace tally::internal::audio
