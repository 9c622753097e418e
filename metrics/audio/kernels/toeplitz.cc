#include "tally/metrics/audio/kernels/toeplitz.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "tally/metrics/plain_values.h"

namespace tally::internal::audio {
namespace {

// A prediction error below this fraction of the energy is rounding.
constexpr double kSingular = 4 * std::numeric_limits<double>::epsilon();

double dot(const double* a, const double* b, std::int64_t count) {
  return sum_terms(count, [=](std::int64_t i) { return a[i] * b[i]; });
}

}  // namespace

void solve_toeplitz(const double* r, const double* b, std::int64_t size,
                    double* x) {
  std::fill_n(x, size, 0.0);
  if (!(r[0] > 0)) return;
  const auto count = static_cast<std::size_t>(size);
  // The lags from high to low, so that both factors of sums are read forwards.
  std::vector<double> falling(r, r + size);
  std::reverse(falling.begin(), falling.end());
  // The predictor from the past, and that from the future: the same reversed.
  // It starts one place earlier in each step.
  std::vector<double> forward(count), backward(2 * count);
  forward[0] = 1;
  double* back = backward.data() + size;
  back[0] = 1;
  double error = r[0];
  x[0] = b[0] / error;
  for (std::int64_t m = 1; m < size; ++m) {
    const double* const lags = falling.data() + (size - 1 - m);
    const double reflection = -dot(forward.data(), lags, m) / error;
    error *= (1 - reflection) * (1 + reflection);
    if (!(error > kSingular * r[0])) return;
    --back;
    back[0] = 0;
    for (std::int64_t i = 0; i <= m; ++i) {
      const double f = forward[i], g = back[i];
      forward[i] = f + reflection * g;
      back[i] = g + reflection * f;
    }
    const double step = (b[m] - dot(x, lags, m)) / error;
    for (std::int64_t i = 0; i <= m; ++i) x[i] += step * back[i];
  }
}

}  // namespace tally::internal::audio
