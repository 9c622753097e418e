#pragma once

/// Whether a difference is small enough, which is not the same as a difference
/// that is not significant.
namespace tally {

/// Tests of a difference against a margin.
struct EquivalenceResult {
  double low = 0;  ///< the interval of the difference, of level 1 - 2 alpha
  double high = 0;
  /// Of the hypothesis that the difference is -margin or less, one-sided.
  double non_inferiority_p = 0;
  /// Of the hypothesis that it is margin or more.
  double non_superiority_p = 0;
  /// The larger of both.
  double equivalence_p = 0;
  /// Whether the p-value is at most alpha, and low above -margin.
  bool is_non_inferior = false;
  /// Whether both p-values are, and the interval within the margins.
  bool is_equivalent = false;
};

/// Non-inferiority and equivalence of the first of two values whose difference,
/// first - second, was estimated: two one-sided tests (TOST).
///
///     non_inferiority_p = P(T >= (difference + margin) / standard_error)
///     non_superiority_p = P(T <= (difference - margin) / standard_error)
/// with T of Student's t distribution with so many degrees of freedom, normal
/// for infinity; low and high are difference -+ standard_error times its
/// quantile at 1 - alpha. Where lower values are better, non_superiority_p is
/// that of non-inferiority. The margin has to be chosen before the data are
/// seen.
///
/// NaN, with a verdict of false, if something is NaN or the standard error 0,
/// which would make any difference certain. Throws c10::ValueError unless
/// margin > 0, standard_error >= 0, degrees > 0 and alpha is in (0, 0.5).
/// Source: Schuirmann 1987; ttost_ind of statsmodels.
///
/// Example:
///     AreaComparison areas = compare_areas(x, y, target, 0.95);
///     bool is_no_worse = equivalence_test(
///         areas.difference, areas.standard_error, /*degrees=*/INFINITY,
///         /*margin=*/0.02, /*alpha=*/0.05).is_non_inferior;
EquivalenceResult equivalence_test(double difference, double standard_error,
                                   double degrees, double margin, double alpha);

}  // namespace tally
