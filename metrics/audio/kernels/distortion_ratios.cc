#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tally/metrics/audio/kernels/coherence.h"
#include "tally/metrics/audio/kernels/energy_ratio.h"
#include "tally/metrics/audio/kernels/lagged_correlations.h"
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
  return sum_terms(count, [=](std::int64_t i) -> double { return values[i]; }) /
         static_cast<double>(count);
}

struct Means {
  double preds = 0, target = 0;
};

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
  const std::int64_t time = sample.time;
  std::vector<Means> means(static_cast<std::size_t>(sample.channels));
  double products = 0, energy = 0;
  for (std::int64_t c = 0; c < sample.channels; ++c) {
    const T* const p = sample.preds + c * time;
    const T* const t = sample.target + c * time;
    if (rule.zero_mean) means[c] = {mean_of(p, time), mean_of(t, time)};
    const double p_mean = means[c].preds, t_mean = means[c].target;
    energy += sum_terms(time, [=](std::int64_t i) {
      const double target = t[i] - t_mean;
      return target * target;
    });
    if (!rule.scale_invariant) continue;
    products += sum_terms(time, [=](std::int64_t i) {
      return (p[i] - p_mean) * (t[i] - t_mean);
    });
  }
  const double scale =
      rule.scale_invariant ? (products + epsilon) / (energy + epsilon) : 1;
  double noise = 0;
  for (std::int64_t c = 0; c < sample.channels; ++c) {
    const T* const p = sample.preds + c * time;
    const T* const t = sample.target + c * time;
    const double p_mean = means[c].preds, t_mean = means[c].target;
    noise += sum_terms(time, [=](std::int64_t i) {
      const double difference = scale * (t[i] - t_mean) - (p[i] - p_mean);
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
