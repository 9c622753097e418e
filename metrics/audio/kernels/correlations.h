#pragma once

#include <cstdint>
#include <vector>

#include "tally/metrics/audio/kernels/fourier_transform.h"

namespace tally::internal::audio {

/// Of a reference t and an estimate p, for the lags 0 to count - 1.
struct Correlations {
  std::vector<double> target;  ///< sum_n t[n] t[n + k]
  std::vector<double> both;    ///< sum_n t[n] p[n + k]
};

/// Correlates signals of any lengths for a number of lags: by Fourier
/// transforms of blocks, whose products are added up before they are
/// transformed back.
class Correlator {
 public:
  explicit Correlator(std::int64_t count);

  std::int64_t count() const { return count_; }
  /// REQUIRES: both are of the same size.
  Correlations correlate(const std::vector<double>& target,
                         const std::vector<double>& preds) const;

 private:
  std::int64_t count_;
  FourierTransform transform_;
};

}  // namespace tally::internal::audio
