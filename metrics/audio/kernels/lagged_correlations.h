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

/// Solves R x = b by Levinson's recursion, R being symmetric and positive
/// definite with R_ij = r[|i - j|]; O(size^2). Where r is numerically singular
/// beyond some order, the equations up to that order are solved, and the other
/// elements of x are 0: all of them if r[0] is not above 0.
void solve_toeplitz(const double* r, const double* b, std::int64_t size,
                    double* x);

}  // namespace tally::internal::audio
