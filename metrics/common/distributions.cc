#include "tally/metrics/common/distributions.h"

#include <cmath>
#include <limits>

namespace tally::internal::intervals {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kInverseSqrtTwoPi = 0.39894228040143267794;
constexpr int kBisections = 200;
// Of Student's t distribution; beyond, it is the normal one to double
// precision.
constexpr double kMostDegrees = 1e10;

// std::lgamma writes to a global.
double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// The continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMost = 200'000;
  const auto away_from_zero = [](double value) {
    return std::abs(value) < kTiny ? kTiny : value;
  };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m <= kMost; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    value *= d * c;
    const double odd =
        -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    const double step = d * c;
    value *= step;
    if (std::abs(step - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return value;
}

// The root of an increasing function.
template <class F>
double bisect(double low, double high, const F& below) {
  for (int i = 0; i < kBisections; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (below(middle) ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

}  // namespace

double normal_cdf(double z) { return 0.5 * std::erfc(-z * kSqrtHalf); }

double normal_quantile(double p) {
  if (p == 0.5) return 0;
  if (p > 0.5) return -normal_quantile(1 - p);
  // Abramowitz and Stegun 26.2.23, then Halley's method.
  const double t = std::sqrt(-2 * std::log(p));
  double z = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 3; ++i) {
    const double density = kInverseSqrtTwoPi * std::exp(-z * z / 2);
    const double step = (normal_cdf(z) - p) / density;
    z -= step / (1 + z * step / 2);
  }
  return z;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(a * std::log(x) + b * std::log1p(-x) +
                                log_gamma(a + b) - log_gamma(a) - log_gamma(b));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double beta_quantile(double a, double b, double p) {
  if (p <= 0) return 0;
  if (p >= 1) return 1;
  return bisect(0, 1, [=](double x) { return incomplete_beta(a, b, x) < p; });
}

double student_t_p_value(double t, double degrees) {
  if (std::isnan(t)) return t;
  if (std::isinf(t)) return 0;
  if (degrees > kMostDegrees) return 2 * normal_cdf(-std::abs(t));
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double student_t_quantile(double p, double degrees) {
  if (degrees > kMostDegrees) return normal_quantile(p);
  if (p == 0.5) return 0;
  if (p < 0.5) return -student_t_quantile(1 - p, degrees);
  const double tail = 2 * (1 - p);
  const auto is_below = [=](double t) {
    return student_t_p_value(t, degrees) > tail;
  };
  double high = 2;
  while (is_below(high)) high *= 2;
  return bisect(0, high, is_below);
}

double binomial_cdf(std::int64_t k, std::int64_t n, double p) {
  if (k < 0) return 0;
  if (k >= n) return 1;
  return incomplete_beta(static_cast<double>(n - k), static_cast<double>(k + 1),
                         1 - p);
}

}  // namespace tally::internal::intervals
