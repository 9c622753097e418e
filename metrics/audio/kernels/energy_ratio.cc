#include "tally/metrics/audio/kernels/energy_ratio.h"

#include <cmath>
#include <vector>

#include "tally/metrics/audio/kernels/means.h"
#include "tally/metrics/plain_values.h"

namespace tally::internal::audio {
namespace {

struct Means {
  double preds = 0, target = 0;
};

}  // namespace

template <class T>
bool is_silent(const SamplePair<T>& sample, bool zero_mean) {
  for (std::int64_t c = 0; c < sample.channels; ++c) {
    const T* const target = sample.target + c * sample.time;
    if (!is_constant(target, sample.time)) return false;
    if (!zero_mean && target[0] != 0) return false;
  }
  return true;
}

template <class T>
double energy_ratio(const SamplePair<T>& sample, const RatioRule& rule,
                    double epsilon) {
  const std::int64_t time = sample.time;
  std::vector<Means> means(static_cast<std::size_t>(sample.channels));
  double products = 0, energy = 0;
  for (std::int64_t c = 0; c < sample.channels; ++c) {
    const T* const p = sample.preds + c * time;
    const T* const t = sample.target + c * time;
    Means mean;
    if (rule.zero_mean) mean = {mean_of(p, time), mean_of(t, time)};
    means[c] = mean;
    energy += sum_terms(time, [=](std::int64_t i) {
      const double target = t[i] - mean.target;
      return target * target;
    });
    if (!rule.scale_invariant) continue;
    products += sum_terms(time, [=](std::int64_t i) {
      return (p[i] - mean.preds) * (t[i] - mean.target);
    });
  }
  const double scale =
      rule.scale_invariant ? (products + epsilon) / (energy + epsilon) : 1;
  double noise = 0;
  for (std::int64_t c = 0; c < sample.channels; ++c) {
    const T* const p = sample.preds + c * time;
    const T* const t = sample.target + c * time;
    const Means mean = means[c];
    noise += sum_terms(time, [=](std::int64_t i) {
      const double difference =
          scale * (t[i] - mean.target) - (p[i] - mean.preds);
      return difference * difference;
    });
  }
  return 10 *
         std::log10((scale * scale * energy + epsilon) / (noise + epsilon));
}

template bool is_silent(const SamplePair<float>&, bool);
template bool is_silent(const SamplePair<double>&, bool);
template double energy_ratio(const SamplePair<float>&, const RatioRule&,
                             double);
template double energy_ratio(const SamplePair<double>&, const RatioRule&,
                             double);

}  // namespace tally::internal::audio
