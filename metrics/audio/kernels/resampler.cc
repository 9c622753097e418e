#include "tally/metrics/audio/kernels/resampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/plain_values.h"

namespace tally::internal::audio {
namespace {

// The filter rejects 60 dB, a tenth of the cutoff frequency above it.
constexpr double kRejection = 60;
constexpr double kBeta = 0.1102 * (kRejection - 8.7);

std::int64_t half_length(double cutoff) {
  return static_cast<std::int64_t>(
      std::ceil((kRejection - 8) / (28.714 * cutoff / 10)));
}

// For t from -half to half; their sum is `gain`.
std::vector<double> taps_of(std::int64_t half, double cutoff, double gain) {
  std::vector<double> taps;
  double sum = 0;
  for (std::int64_t t = -half; t <= half; ++t) {
    const double angle = kPi * 2 * cutoff * static_cast<double>(t);
    const double sinc = t == 0 ? 1 : std::sin(angle) / angle;
    const double place = static_cast<double>(t) / static_cast<double>(half);
    const double window =
        std::cyl_bessel_i(0.0, kBeta * std::sqrt(1 - place * place));
    taps.push_back(sinc * window);
    sum += taps.back();
  }
  for (double& tap : taps) tap *= gain / sum;
  return taps;
}

}  // namespace

Resampler::Resampler(std::int64_t from, std::int64_t to)
    : up_(to / std::gcd(from, to)), down_(from / std::gcd(from, to)) {
  if (is_identity()) return;
  const double cutoff = 1 / (2 * static_cast<double>(std::max(up_, down_)));
  half_ = half_length(cutoff);
  const std::vector<double> taps =
      taps_of(half_, cutoff, static_cast<double>(up_));
  const auto size = static_cast<std::int64_t>(taps.size());
  phase_size_ = (size + up_ - 1) / up_;
  phases_.assign(static_cast<std::size_t>(up_ * phase_size_), 0);
  for (std::int64_t i = 0; i < size; ++i) {
    phases_[(i % up_) * phase_size_ + phase_size_ - 1 - i / up_] = taps[i];
  }
}

// The sum over k of taps[place * down - k * up + half] values[k].
Resampler::Part Resampler::part_of(std::int64_t place,
                                   std::int64_t count) const {
  const std::int64_t at = place * down_ + half_;
  const std::int64_t last = at / up_;
  const std::int64_t first = last - (phase_size_ - 1);
  const std::int64_t from = std::max<std::int64_t>(first, 0);
  const std::int64_t until = std::min(last + 1, count);
  return {phases_.data() + (at % up_) * phase_size_ + (from - first), from,
          std::max<std::int64_t>(until - from, 0)};
}

void Resampler::resample(const double* values, std::int64_t count,
                         double* result) const {
  if (is_identity()) {
    std::copy_n(values, count, result);
    return;
  }
  const std::int64_t size = size_of(count);
  for (std::int64_t m = 0; m < size; ++m) {
    const Part part = part_of(m, count);
    result[m] = sum_terms(part.size, [&](std::int64_t i) {
      return part.taps[i] * values[part.first + i];
    });
  }
}

void Resampler::backward(const double* gradients, std::int64_t count,
                         double* result) const {
  if (is_identity()) {
    std::copy_n(gradients, count, result);
    return;
  }
  std::fill_n(result, count, 0.0);
  const std::int64_t size = size_of(count);
  for (std::int64_t m = 0; m < size; ++m) {
    const Part part = part_of(m, count);
    for (std::int64_t i = 0; i < part.size; ++i) {
      result[part.first + i] += part.taps[i] * gradients[m];
    }
  }
}

}  // namespace tally::internal::audio
