#pragma once

#include <cstdint>

#include "tally/metrics/audio/kernels/lagged_correlations.h"

namespace tally::internal::audio {

/// How an estimate is explained by its reference: by a filter of as many taps
/// as a Correlator has lags.
struct CoherenceRule {
  bool zero_mean = false;
  /// Added to the energy of the reference, which is 1, in the equations of the
  /// filter.
  double load_diag = 0;
};

/// Norms below this are not brought to 1, but to a fraction of it.
constexpr double kLeastNorm = 1e-6;

/// The energy fraction of an estimate that is its reference, filtered by the
/// best filter: from 0 to 1, up to rounding; 0 if
/// either is silent. Both are first divided by their norms; the `filter` is
/// that between these.
template <class T>
double coherence(const T* preds, const T* target, std::int64_t time,
                 const Correlator& correlator, const CoherenceRule& rule,
                 double* filter);

extern template double coherence(const float*, const float*, std::int64_t,
                                 const Correlator&, const CoherenceRule&,
                                 double*);
extern template double coherence(const double*, const double*, std::int64_t,
                                 const Correlator&, const CoherenceRule&,
                                 double*);

}  // namespace tally::internal::audio
