#pragma once

#include <cstdint>

/// Loops over the values of signals, with the widest vectors of the processor;
/// sums are float64. Each is defined for float and double.
namespace tally::internal::audio {

/// An estimate and its reference, `count` values each.
template <class T>
struct Channel {
  const T* preds;
  const T* target;
  std::int64_t count;
};

struct Means {
  double preds = 0, target = 0;
};

double sum_of(const float* values, std::int64_t count);
double sum_of(const double* values, std::int64_t count);

/// Of signals less their means: squares of the reference, its products with the
/// estimate, and squares of what the estimate lacks to the scaled reference.
struct ChannelSums {
  double target = 0, products = 0, noise = 0;

  ChannelSums& operator+=(const ChannelSums& other) {
    target += other.target;
    products += other.products;
    noise += other.noise;
    return *this;
  }
};

ChannelSums channel_sums(const Channel<float>& channel, const Means& means,
                         double scale);
ChannelSums channel_sums(const Channel<double>& channel, const Means& means,
                         double scale);

/// to = by_preds (preds - its mean) + by_target (target - its mean)
void combine(const Channel<float>& channel, const Means& means, double by_preds,
             double by_target, float* to);
void combine(const Channel<double>& channel, const Means& means,
             double by_preds, double by_target, double* to);

}  // namespace tally::internal::audio
