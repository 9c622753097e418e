#pragma once

#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/intervals/interval_flags.h"
#include "tally/metrics/intervals/unit_statistics.h"
#include "tally/metrics/sampling.h"

/// How the value of a slice differs from that of all other rows.
namespace tally::internal::slices {

/// Fields as in ComparedSlice. NaN where they are unknown.
struct SliceDifference {
  double difference = 0;
  double low = 0;
  double high = 0;
  double effect = 0;
  double standard_error = 0;
  double degrees_of_freedom = 0;
  double p_value = 0;
  IntervalBounds value;  ///< the ends of the slice's own value
  IntervalFlags flags;
};

/// Of a difference that is NaN or has no spread.
SliceDifference unknown_difference(double difference);

/// Two-sided, of the hypothesis that both proportions are equal: Fisher's
/// conditional test with the mid-p correction,
///
///     p = 2 min(t, 1 - t),  t = P(X > k) + P(X = k) / 2
/// with X hypergeometric, given the sum of the successes. NaN if an n is 0.
double fisher_mid_p_value(const Proportion& first, const Proportion& second);

/// Of values that are functions of independent proportions (null: these
/// themselves): Fisher's test, and Newcombe's interval from both Wilson
/// intervals,
///
///     low = d - sqrt((v - l)^2 + (h' - v')^2)
///     high = d + sqrt((h - v)^2 + (v' - l')^2)
/// Source: Newcombe 1998, method 10; Zou and Donner 2008 for other functions;
/// Lancaster 1961 (mid-p).
SliceDifference rate_difference(const Proportion& slice, const Proportion& rest,
                                double (*value)(double), double level);

/// What a difference rests on. Sizes are rows, or those that decide the value.
struct SpreadOfParts {
  intervals::UnitInterval slice;
  intervals::UnitSpread smaller;  ///< of the smaller part alone
  double fewer = 0;               ///< its size
  double more = 0;                ///< that of the other part
  intervals::UnitSpread pooled;   ///< of all rows
};

/// Of other values: Student's t with
///
///     se^2 = v + w,  v = max(s^2, S^2 all / fewer),  w = S^2 all / more
///     df = (v + w)^2 / (v^2 / df_v + w^2 / df_w)
/// from the standard errors s of the smaller part and S of all rows. Ends are
/// cut off where no difference of values in the range is: on another scale they
/// would contradict p.
SliceDifference spread_difference(double slice, double rest,
                                  const SpreadOfParts& spread,
                                  const ValueRange& range, double level);

}  // namespace tally::internal::slices
