#include "tally/metrics/shape/kernels/singular_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "tally/metrics/common/constants.h"

namespace tally::internal::shape {
namespace {

// Columns whose cosine is below this are at right angles.
constexpr double kRightAngle = 1e-15;
// Sweeps converge quadratically: this is far more than they take.
constexpr int kMostSweeps = 60;

struct Products {
  double aa = 0, bb = 0, ab = 0;
};

// Turns columns a and b to a right angle; whether they were not.
bool rotate(std::vector<double>& matrix, std::int64_t size, std::int64_t a,
            std::int64_t b) {
  Products p;
  for (std::int64_t r = 0; r < size; ++r) {
    const double x = matrix[r * size + a], y = matrix[r * size + b];
    p.aa += x * x;
    p.bb += y * y;
    p.ab += x * y;
  }
  if (!(std::abs(p.ab) > kRightAngle * std::sqrt(p.aa) * std::sqrt(p.bb))) {
    return false;
  }
  const double tau = (p.bb - p.aa) / (2 * p.ab);
  const double tangent =
      std::copysign(1 / (std::abs(tau) + std::sqrt(1 + tau * tau)), tau);
  const double cosine = 1 / std::sqrt(1 + tangent * tangent);
  const double sine = cosine * tangent;
  for (std::int64_t r = 0; r < size; ++r) {
    const double x = matrix[r * size + a], y = matrix[r * size + b];
    matrix[r * size + a] = cosine * x - sine * y;
    matrix[r * size + b] = sine * x + cosine * y;
  }
  return true;
}

}  // namespace

std::vector<double> singular_values(std::vector<double> matrix,
                                    std::int64_t size) {
  std::vector<double> values(static_cast<std::size_t>(size));
  const bool is_finite = std::all_of(matrix.begin(), matrix.end(),
                                     [](double v) { return std::isfinite(v); });
  if (!is_finite) {
    std::fill(values.begin(), values.end(), kNaN);
    return values;
  }
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
    turned = false;
    for (std::int64_t a = 0; a < size; ++a) {
      for (std::int64_t b = a + 1; b < size; ++b) {
        turned |= rotate(matrix, size, a, b);
      }
    }
  }
  for (std::int64_t c = 0; c < size; ++c) {
    double square = 0;
    for (std::int64_t r = 0; r < size; ++r) {
      square += matrix[r * size + c] * matrix[r * size + c];
    }
    values[c] = std::sqrt(square);
  }
  return values;
}

bool has_negative_determinant(std::vector<double> matrix, std::int64_t size) {
  bool negative = false;
  for (std::int64_t c = 0; c < size; ++c) {
    std::int64_t pivot = c;
    for (std::int64_t r = c + 1; r < size; ++r) {
      if (std::abs(matrix[r * size + c]) > std::abs(matrix[pivot * size + c])) {
        pivot = r;
      }
    }
    const double divisor = matrix[pivot * size + c];
    if (!(divisor != 0)) return false;
    if (pivot != c) {
      std::swap_ranges(matrix.begin() + pivot * size,
                       matrix.begin() + (pivot + 1) * size,
                       matrix.begin() + c * size);
      negative = !negative;
    }
    negative ^= divisor < 0;
    for (std::int64_t r = c + 1; r < size; ++r) {
      const double factor = matrix[r * size + c] / divisor;
      for (std::int64_t k = c; k < size; ++k) {
        matrix[r * size + k] -= factor * matrix[c * size + k];
      }
    }
  }
  return negative;
}

}  // namespace tally::internal::shape
