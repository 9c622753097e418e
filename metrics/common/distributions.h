#pragma once

#include <cstdint>

/// Distribution functions and quantiles, to about 1e-12 relative.
namespace tally::internal::intervals {

double normal_cdf(double z);
/// REQUIRES: p in (0, 1).
double normal_quantile(double p);
/// REQUIRES: p in (0, 1), degrees > 0; infinity is the normal distribution.
double student_t_quantile(double p, double degrees);
/// The probability that Student's t is further from 0 than this one; NaN for
/// NaN. REQUIRES: degrees > 0, or infinity.
double student_t_p_value(double t, double degrees);
/// The regularized incomplete beta function I_x(a, b). REQUIRES: a, b > 0.
double incomplete_beta(double a, double b, double x);
/// REQUIRES: a, b > 0, p in [0, 1].
double beta_quantile(double a, double b, double p);
/// P(X <= k) for X ~ Binomial(n, p).
double binomial_cdf(std::int64_t k, std::int64_t n, double p);

}  // namespace tally::internal::intervals
