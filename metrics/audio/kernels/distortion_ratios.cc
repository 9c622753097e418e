#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tally/metrics/audio/kernels/coherence.h"
#include "tally/metrics/audio/kernels/energy_ratio.h"
#include "tally/metrics/audio/kernels/lagged_correlations.h"
#include "tally/metrics/audio/kernels/signal_kernels.h"
#include "tally/metrics/common/plain_values.h"

namespace tally::internal::audio {
namespace {

template <class T>
bool is_constant(const T* values, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    if (values[i] != values[0]) return false;
  }
  return true;
}

// Exact where all values are equal. REQUIRES: count is above 0.
template <class T>
double mean_of(const T* values, std::int64_t count) {
  if (is_constant(values, count)) return values[0];
  return sum_of(values, count) / static_cast<double>(count);
}

template <class T>
Channel<T> channel_of(const SamplePair<T>& sample, std::int64_t c) {
  return {sample.preds + c * sample.time, sample.target + c * sample.time,
          sample.time};
}

// Of a sample, and its reference scaled to be nearest to the estimate.
struct Energies {
  std::vector<Means> means;
  ChannelSums sums;
  double scale = 1;
};

template <class T>
Energies energies_of(const SamplePair<T>& sample, const RatioRule& rule,
                     double epsilon) {
  Energies found;
  found.means.resize(static_cast<std::size_t>(sample.channels));
  for (std::int64_t c = 0; c < sample.channels; ++c) {
    const Channel<T> channel = channel_of(sample, c);
    if (rule.zero_mean) {
      found.means[c] = {mean_of(channel.preds, channel.count),
                        mean_of(channel.target, channel.count)};
    }
    found.sums += channel_sums(channel, found.means[c], found.scale);
  }
  if (!rule.scale_invariant) return found;
  found.scale = (found.sums.products + epsilon) / (found.sums.target + epsilon);
  found.sums.noise = 0;
  for (std::int64_t c = 0; c < sample.channels; ++c) {
    found.sums.noise +=
        channel_sums(channel_of(sample, c), found.means[c], found.scale).noise;
  }
  return found;
}

// A signal divided by its norm, and before that less its mean.
struct Unit {
  std::vector<double> values;
  // The norm that it is meant to have: below 1 for very quiet signals.
  double norm = 0;
};

template <class T>
Unit unit_of(const T* values, std::int64_t count, bool zero_mean) {
  const double mean = zero_mean ? mean_of(values, count) : 0;
  const double norm = std::sqrt(sum_terms(count, [=](std::int64_t i) {
    const double value = values[i] - mean;
    return value * value;
  }));
  Unit unit;
  unit.norm = norm < kLeastNorm ? norm / kLeastNorm : 1;
  if (norm == 0) return unit;
  unit.values.resize(static_cast<std::size_t>(count));
  const double scale = 1 / norm;
  for (std::int64_t i = 0; i < count; ++i) {
    unit.values[i] = (values[i] - mean) * scale;
  }
  return unit;
}

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
  const Energies e = energies_of(sample, rule, epsilon);
  return 10 * std::log10((e.scale * e.scale * e.sums.target + epsilon) /
                         (e.sums.noise + epsilon));
}

template <class T>
void energy_slopes(const SamplePair<T>& sample, const RatioRule& rule,
                   double epsilon, double factor, T* of_preds, T* of_target) {
  const Energies e = energies_of(sample, rule, epsilon);
  const double target = e.sums.target;
  const double decibels = factor * 10 / std::log(10.0);
  const double by_signal = decibels / (e.scale * e.scale * target + epsilon);
  const double by_noise = decibels / (e.sums.noise + epsilon);
  // By the scale, over what it is divided by.
  const double by_scale =
      rule.scale_invariant
          ? 2 *
                (by_signal * e.scale * target -
                 by_noise * (e.scale * target - e.sums.products)) /
                (target + epsilon)
          : 0;
  const double by_both = by_scale + 2 * by_noise * e.scale;
  for (std::int64_t c = 0; c < sample.channels; ++c) {
    const Channel<T> channel = channel_of(sample, c);
    const auto write = [&](const T* own, double by_preds, double by_target,
                           T* to) {
      if (to == nullptr) return;
      to += c * sample.time;
      if (rule.zero_mean && is_constant(own, channel.count)) {
        std::fill_n(to, channel.count, T{0});
      } else {
        combine(channel, e.means[c], by_preds, by_target, to);
      }
    };
    write(channel.preds, -2 * by_noise, by_both, of_preds);
    write(channel.target, by_both,
          2 * e.scale * (e.scale * (by_signal - by_noise) - by_scale),
          of_target);
  }
}

template bool is_silent(const SamplePair<float>&, bool);
template bool is_silent(const SamplePair<double>&, bool);
template double energy_ratio(const SamplePair<float>&, const RatioRule&,
                             double);
template double energy_ratio(const SamplePair<double>&, const RatioRule&,
                             double);
template void energy_slopes(const SamplePair<float>&, const RatioRule&, double,
                            double, float*, float*);
template void energy_slopes(const SamplePair<double>&, const RatioRule&, double,
                            double, double*, double*);

template <class T>
double coherence(const T* preds, const T* target, std::int64_t time,
                 const Correlator& correlator, const CoherenceRule& rule,
                 double* filter) {
  const std::int64_t length = correlator.count();
  const Unit p = unit_of(preds, time, rule.zero_mean);
  const Unit t = unit_of(target, time, rule.zero_mean);
  if (p.values.empty() || t.values.empty()) {
    std::fill_n(filter, length, 0.0);
    return 0;
  }
  Correlations lags = correlator.correlate(t.values, p.values);
  lags.target[0] += rule.load_diag / (t.norm * t.norm);
  solve_toeplitz(lags.target.data(), lags.both.data(), length, filter);
  const double explained = sum_terms(
      length, [&](std::int64_t i) { return lags.both[i] * filter[i]; });
  for (std::int64_t i = 0; i < length; ++i) filter[i] *= p.norm / t.norm;
  return p.norm * p.norm * explained;
}

template double coherence(const float*, const float*, std::int64_t,
                          const Correlator&, const CoherenceRule&, double*);
template double coherence(const double*, const double*, std::int64_t,
                          const Correlator&, const CoherenceRule&, double*);

}  // namespace tally::internal::audio
