#include "tally/metrics/slices/slice_difference.h"

#include <math.h>  // lgamma_r

#include <algorithm>
#include <cmath>
#include <utility>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/rate_interval.h"

namespace tally::internal::slices {
namespace {

using intervals::RateInterval;
using intervals::UnitSpread;

// std::lgamma writes to a global.
double log_factorial(double n) {
  int sign = 0;
  return lgamma_r(n + 1, &sign);
}

double log_choose(double n, double k) {
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

double square(double x) { return x * x; }

}  // namespace

SliceDifference unknown_difference(double difference) {
  SliceDifference result;
  result.difference = difference;
  result.low = result.high = result.effect = result.standard_error =
      result.degrees_of_freedom = result.p_value = kNaN;
  result.value = {kNaN, kNaN};
  return result;
}

double fisher_mid_p_value(const Proportion& first, const Proportion& second) {
  if (!(first.n > 0 && second.n > 0)) return kNaN;
  const double drawn = first.n;
  const double others = second.n;
  const double all = first.successes + second.successes;
  double k = first.successes;
  double term =
      std::exp(log_choose(drawn, k) + log_choose(others, second.successes) -
               log_choose(drawn + others, all));
  double tail = term / 2;
  const bool is_upper = k * (drawn + others) >= drawn * all;
  // Away from the mean, terms only fall.
  constexpr double kNegligible = 1e-18;
  while (term > kNegligible * tail) {
    if (is_upper) {
      term *= (drawn - k) * (all - k) / ((k + 1) * (others - all + k + 1));
      ++k;
    } else {
      term *= k * (others - all + k) / ((drawn - k + 1) * (all - k + 1));
      --k;
    }
    tail += term;
  }
  return std::min(1.0, 2 * std::min(tail, 1 - tail));
}

SliceDifference rate_difference(const Proportion& slice, const Proportion& rest,
                                double (*value)(double), double level) {
  if (!(slice.n > 0 && rest.n > 0)) return unknown_difference(kNaN);
  const RateInterval own = intervals::wilson_rate_interval(slice, value, level);
  const RateInterval other =
      intervals::wilson_rate_interval(rest, value, level);
  SliceDifference result;
  result.difference = own.value - other.value;
  result.value = own.ends;
  // std::hypot would need a newer glibc.
  result.low =
      result.difference - std::sqrt(square(own.value - own.ends.low) +
                                    square(other.ends.high - other.value));
  result.high =
      result.difference + std::sqrt(square(own.ends.high - own.value) +
                                    square(other.value - other.ends.low));
  result.degrees_of_freedom = kInfinity;
  result.p_value = fisher_mid_p_value(slice, rest);
  // Of one row, for all rows together where those of the slice are all alike.
  const double p = (slice.successes + rest.successes) / (slice.n + rest.n);
  const double own_square =
      square(own.slope) *
      std::max(own.proportion * (1 - own.proportion), p * (1 - p));
  const double other_square =
      square(other.slope) * other.proportion * (1 - other.proportion);
  result.standard_error =
      std::sqrt(own_square / slice.n + other_square / rest.n);
  result.effect =
      result.difference == 0
          ? 0
          : result.difference / std::sqrt((own_square + other_square) / 2);
  result.flags.add(IntervalFlag::kNoVariation,
                   own.proportion == 0 || own.proportion == 1);
  return result;
}

SliceDifference spread_difference(double slice, double rest,
                                  const SpreadOfParts& spread,
                                  const ValueRange& range, double level) {
  SliceDifference result = unknown_difference(slice - rest);
  const double difference = result.difference;
  const UnitSpread& smaller = spread.smaller;
  result.value = spread.slice.ends;
  result.flags.add(smaller.flags);
  result.flags.add(spread.slice.spread.flags);
  const double own = square(smaller.standard_error);
  const double all =
      square(spread.pooled.standard_error) * (spread.fewer + spread.more);
  if (std::isnan(all)) result.flags.add(spread.pooled.flags);
  if (std::isnan(difference) || std::isnan(own) || std::isnan(all)) {
    return result;
  }
  result.flags.add(IntervalFlag::kNoVariation,
                   !intervals::varies(slice, smaller.standard_error));
  // The jackknife of few rows is often too small: then that of all rows.
  const bool is_own = own > all / spread.fewer;
  const double first = is_own ? own : all / spread.fewer;
  const double second = all / spread.more;
  const double error = std::sqrt(first + second);
  if (!intervals::varies(slice, error)) {
    if (difference != 0) return result;
    result.effect = 0;
    result.p_value = 1;
    return result;
  }
  result.standard_error = error;
  const double typical = std::sqrt((first * spread.fewer + all) / 2);
  result.effect = difference == 0 ? 0 : difference / typical;
  const double pooled_degrees = spread.pooled.degrees_of_freedom;
  const double own_degrees =
      is_own ? smaller.degrees_of_freedom : pooled_degrees;
  if (!(own_degrees >= 1 && pooled_degrees >= 1)) return result;
  const double degrees =
      square(first + second) /
      (square(first) / own_degrees + square(second) / pooled_degrees);
  result.degrees_of_freedom = degrees;
  result.p_value = difference == 0 ? 1
                                   : intervals::student_t_p_value(
                                         difference / error, degrees);
  const double half =
      error * intervals::student_t_quantile(0.5 + level / 2, degrees);
  const double largest = range.high - range.low;
  result.low = std::max(difference - half, -largest);
  result.high = std::min(difference + half, largest);
  return result;
}

}  // namespace tally::internal::slices
