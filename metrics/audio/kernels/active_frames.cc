#include "tally/metrics/audio/kernels/active_frames.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/plain_values.h"

namespace tally::internal::audio {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// 40 dB of amplitude.
constexpr double kRange = 100;
constexpr double kSlack = 1 + 1e-9;

double level_of(const double* frame) {
  const double* const window = hann_window().data();
  return kEpsilon + std::sqrt(sum_terms(kFrame, [=](std::int64_t i) {
           const double value = window[i] * frame[i];
           return value * value;
         }));
}

}  // namespace

const std::vector<double>& hann_window() {
  static const std::vector<double> window = [] {
    std::vector<double> values;
    for (std::int64_t i = 1; i <= kFrame; ++i) {
      values.push_back(0.5 - 0.5 * std::cos(2 * kPi * static_cast<double>(i) /
                                            (kFrame + 1)));
    }
    return values;
  }();
  return window;
}

ActiveFrames active_frames(const double* signal, std::int64_t count) {
  ActiveFrames active;
  std::vector<double> levels;
  for (std::int64_t i = 0; i + kFrame < count; i += kHop) {
    levels.push_back(level_of(signal + i));
  }
  active.count = static_cast<std::int64_t>(levels.size());
  double loudest = 0;
  bool is_finite = true;
  for (const double level : levels) {
    loudest = std::max(loudest, level);
    is_finite &= std::isfinite(level);
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (kRange * levels[i] > kSlack * loudest || !is_finite) {
      active.kept.push_back(static_cast<std::int64_t>(i));
    }
  }
  return active;
}

}  // namespace tally::internal::audio
