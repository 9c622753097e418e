#include "tally/metrics/audio/kernels/coherence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tally/metrics/audio/kernels/means.h"
#include "tally/metrics/audio/kernels/toeplitz.h"
#include "tally/metrics/plain_values.h"

namespace tally::internal::audio {
namespace {

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
