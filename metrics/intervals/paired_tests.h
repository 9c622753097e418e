#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

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

/// The difference of two areas under ROC curves.
struct AreaComparison {
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
/// twice; where the scores are in the same order, the difference and its ends
/// are 0, with p-value 1. Throws c10::ValueError for other inputs, see
/// delong(), and a level outside (0, 1).
/// Source: DeLong, DeLong and Clarke-Pearson 1988.
///
/// Example:
///     AreaComparison areas = compare_areas(x, y, target, 0.95);
AreaComparison compare_areas(const at::Tensor& first, const at::Tensor& second,
                             const at::Tensor& target, double level);

}  // namespace tally
