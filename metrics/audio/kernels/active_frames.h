#pragma once

#include <cstdint>
#include <vector>

namespace tally::internal::audio {

constexpr std::int64_t kFrame = 256;
constexpr std::int64_t kHop = 128;

/// Hann's window of kFrame values, none of which is 0.
const std::vector<double>& hann_window();

struct ActiveFrames {
  /// Of all frames, those that start before the last kFrame values.
  std::int64_t count = 0;
  /// Which of them are louder than 40 dB below the loudest.
  std::vector<std::int64_t> kept;
};

/// Sums are in a fixed order, and a frame that is louder by less than 1e-9 is
/// not: what is kept does not depend on rounding. All frames of a signal with
/// infinities are kept.
ActiveFrames active_frames(const double* signal, std::int64_t count);

}  // namespace tally::internal::audio
