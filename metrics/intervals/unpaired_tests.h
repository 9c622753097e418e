#pragma once

#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/intervals/paired_tests.h"
#include "tally/metrics/intervals/proportions.h"

/// Comparisons of values that come from different rows, and are therefore
/// independent. For two models on the same rows see paired_tests.h, which find
/// smaller differences.
namespace tally {

/// Newcombe's hybrid score interval for the difference of two independent
/// proportions, successes1 / n1 - successes2 / n2.
///
///     low = difference - sqrt(a^2 + d^2)
///     high = difference + sqrt(b^2 + c^2)
/// where a and b are the distances from the first proportion to the ends of
/// Wilson's interval, low and high, c and d those of the second. In [-1, 1].
/// NaN if n1 or n2 is 0. Throws c10::ValueError for a level outside (0, 1), and
/// unless 0 <= successes <= n for both.
/// Source: Newcombe 1998, Statistics in Medicine 17, 873, method 10;
/// confint_proportions_2indep of statsmodels, method "newcomb".
///
/// Example:
///     IntervalBounds ends = difference_interval(56, 70, 48, 80, 0.95);
IntervalBounds difference_interval(double successes1, double n1,
                                   double successes2, double n2, double level);

/// The difference of two independent proportions.
struct ProportionComparison {
  double first = 0;  ///< the proportions
  double second = 0;
  double difference = 0;  ///< first - second
  double low = 0;         ///< see difference_interval()
  double high = 0;
  double p_value = 0;
};

/// Compares two independent proportions by the score test, two-sided: the
/// probability that a standard normal variable is further from 0 than
///
///     z = difference / sqrt(p (1 - p) (1 / n1 + 1 / n2))
///     p = (successes1 + successes2) / (n1 + n2)
/// which is Pearson's chi-squared test without a correction for continuity. All
/// is NaN if n1 or n2 is 0; the p-value alone is NaN if p is 0 or 1, where
/// nothing varies. Throws c10::ValueError as difference_interval() does.
/// Source: Pearson 1900; proportions_ztest of statsmodels.
///
/// Example:
///     double p = compare_proportions(56, 70, 48, 80, 0.95).p_value;
ProportionComparison compare_proportions(double successes1, double n1,
                                         double successes2, double n2,
                                         double level);

/// Compares areas under the ROC curves of different rows by DeLong's standard
/// errors, whose squares add: difference -+ z standard errors, and the
/// two-sided p-value of difference / standard error, both of the normal
/// distribution.
///
/// Interval, p-value and standard error are NaN if one of those given is NaN or
/// both are 0, as for areas of 0 and 1. Throws c10::ValueError for a level
/// outside (0, 1), an area outside [0, 1] and a standard error below 0.
/// Source: DeLong, DeLong and Clarke-Pearson 1988.
///
/// Example:
///     AreaComparison areas = compare_areas_unpaired(
///         delong(x, target), delong(y, 1 - target), 0.95);
AreaComparison compare_areas_unpaired(const AreaEstimate& first,
                                      const AreaEstimate& second, double level);

/// What Welch's test takes of a sample.
struct SampleSummary {
  double mean = 0;
  double standard_deviation = 0;  ///< with n - 1 as divisor
  double n = 0;
};

/// The difference of two means.
struct WelchResult {
  double difference = 0;  ///< first - second
  double low = 0;
  double high = 0;
  double p_value = 0;
  double standard_error = 0;
  double degrees = 0;  ///< of freedom
};

/// Welch's t-test of two independent samples, two-sided, which does not assume
/// equal variances, and the interval of the difference of their means.
///
///     v = standard_deviation^2 / n, of each sample
///     standard_error = sqrt(v1 + v2)
///     degrees = (v1 + v2)^2 / (v1^2 / (n1 - 1) + v2^2 / (n2 - 1))
/// Low and high are difference -+ t standard errors. All but the difference is
/// NaN if n is below 2 for one sample, the standard deviation 0 for both, or
/// something NaN or infinite. Throws c10::ValueError for a level outside (0,
/// 1), and for a standard deviation or n below 0. Source: Welch 1947,
/// Satterthwaite 1946; ttest_ind_from_stats of SciPy, equal_var=False.
///
/// Example:
///     double p = welch_test({5.1, 0.8, 30}, {4.6, 1.1, 25}, 0.95).p_value;
WelchResult welch_test(const SampleSummary& first, const SampleSummary& second,
                       double level);

}  // namespace tally
