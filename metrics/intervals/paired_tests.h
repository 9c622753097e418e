#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/intervals/proportions.h"

namespace tally {

/// The p-values of McNemar's test, two-sided.
struct McnemarResult {
  double exact = 0;
  /// Counts the observed outcome half: closer to the level than the exact one,
  /// which is too large.
  double mid = 0;
};

/// Whether two models are correct equally often on the same rows, by the rows
/// on which one alone is: those of the first, and of the second.
///
///     exact = min(1, 2 P(X <= smaller)), X ~ Binomial(first + second, 1/2)
///     mid = exact - P(X = smaller), and 1 for equal numbers
/// Throws c10::ValueError for negative numbers. Source: McNemar 1947; mid-p as
/// in Fagerland, Lydersen and Laake 2013.
///
/// Example:
///     double p = mcnemar(/*first_only=*/12, /*second_only=*/30).mid;
McnemarResult mcnemar(std::int64_t first_only, std::int64_t second_only);

/// Newcombe's interval for the difference of two proportions of the same rows:
/// of those that the first model has right, minus the second. Rows by which of
/// them are right.
///
///     difference = (first_only - second_only) / n
///     low = difference - sqrt(a^2 - 2 phi a d + d^2)
///     high = difference + sqrt(b^2 - 2 phi b c + c^2)
/// where a and b are the distances from the first proportion to the ends of
/// Wilson's interval, low and high, c and d those of the second, and
///
///     phi = m / sqrt((both + first_only) (second_only + neither)
///                    (both + second_only) (first_only + neither))
///     m = both * neither - first_only * second_only, toward 0 by n / 2 if
///     positive, but not beyond
/// with 0 for a root of 0. NaN without rows. Throws c10::ValueError for
/// negative numbers, and a level outside (0, 1). Source: Newcombe 1998,
/// Statistics in Medicine 17, 2635, method 10.
///
/// Example:
///     IntervalBounds ends = paired_difference_interval(
///         /*both=*/70, /*first_only=*/12, /*second_only=*/5, /*neither=*/13,
///         0.95);
IntervalBounds paired_difference_interval(std::int64_t both,
                                          std::int64_t first_only,
                                          std::int64_t second_only,
                                          std::int64_t neither, double level);

/// The difference of two areas under ROC curves.
struct AreaComparison {
  double first = 0;  ///< the areas
  double second = 0;
  double difference = 0;  ///< first - second
  double low = 0;
  double high = 0;
  double p_value = 0;
  double standard_error = 0;
};

/// Compares the areas under the ROC curves of two models' scores for the same
/// rows, with DeLong's covariance.
///
/// first, second: real [N], target: 0 and 1 [N]. NaN unless each class occurs
/// twice. Where no row's place among the others differs more than another's,
/// there is no interval; then p is 1 if the areas are equal, and NaN otherwise.
/// Throws c10::ValueError for other inputs, see delong(), and a level outside
/// (0, 1). Source: DeLong, DeLong and Clarke-Pearson 1988.
///
/// Example:
///     AreaComparison areas = compare_areas(x, y, target, 0.95);
AreaComparison compare_areas(const at::Tensor& first, const at::Tensor& second,
                             const at::Tensor& target, double level);

}  // namespace tally
