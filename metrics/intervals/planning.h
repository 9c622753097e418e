#pragma once

#include <cstdint>

/// How many rows an evaluation needs, from the same formulas by which it is
/// evaluated later. Numbers of rows are at most kMostPlannedRows; where more
/// would be needed, c10::ValueError says so.
namespace tally {

inline constexpr std::int64_t kMostPlannedRows = 10'000'000;

/// The fewest rows for which Wilson's interval of a proportion is at most so
/// wide, high - low, if the proportion is what is expected:
/// wilson_interval(proportion n, n, level), whose width decreases with n.
///
/// Throws c10::ValueError for a proportion outside [0, 1], and a width or level
/// outside (0, 1). Source: Wilson 1927.
///
/// Example:
///     std::int64_t n = rows_for_proportion(/*proportion=*/0.9, /*width=*/0.05,
///                                          /*level=*/0.95);  // 557
std::int64_t rows_for_proportion(double proportion, double width, double level);

/// The power of McNemar's test of two models on the same rows: the probability
/// that mcnemar(...).mid is at most alpha for `rows` rows, of which the first
/// model alone has each right with probability `first_only`, the second alone
/// with `second_only`.
///
///     power = sum over k of P(K = k) P(mid <= alpha | k)
///     K ~ Binomial(rows, first_only + second_only)
///     X | k ~ Binomial(k, first_only / (first_only + second_only))
/// summed over all k and X; 0 for no rows, or rates of 0. Throws
/// c10::ValueError for rates below 0 or of more than 1 together, rows below 0
/// or above kMostPlannedRows, and alpha outside (0, 1).
/// Source: the test's is Fagerland, Lydersen and Laake 2013.
///
/// Example:
///     double power = mcnemar_power(/*first_only=*/0.1, /*second_only=*/0.05,
///                                  /*rows=*/500, /*alpha=*/0.05);
double mcnemar_power(double first_only, double second_only, std::int64_t rows,
                     double alpha);

/// A number of rows for which mcnemar_power() is at least `power`, and for one
/// row fewer is not. Where nearly every row is one that a single model has
/// right, power goes up and down by a little from row to row, and some smaller
/// numbers may reach it as well. Throws c10::ValueError as mcnemar_power()
/// does, for equal rates, and for a power outside (0, 1).
///
/// Example:
///     std::int64_t n = rows_for_mcnemar(0.1, 0.05, /*power=*/0.8, 0.05);
std::int64_t rows_for_mcnemar(double first_only, double second_only,
                              double power, double alpha);

/// The standard error to be expected of an area under the ROC curve.
///
///     se^2 = (A (1 - A) + (M - 1) (Q1 - A^2 + Q2 - A^2)) / (P N)
///     Q1 = A / (2 - A), Q2 = 2 A^2 / (1 + A), M = (P + N) / 2
/// for P positives and N negatives, as in newcombe_interval(). Beside that of
/// normal scores of equal variance, it is 1 % large at an area of 0.75, 6 % at
/// 0.9, 14 % at 0.95 and 44 % at 0.99: more rows are planned than are needed.
/// NaN unless both numbers are above 0. Throws c10::ValueError for an area
/// outside [0, 1], and numbers below 0.
/// Source: Hanley and McNeil 1982, with Newcombe's M (2006), without which it
/// is too small where positives are many.
///
/// Example:
///     double se = expected_area_error(/*area=*/0.9, 100, 400);  // 0.0178
double expected_area_error(double area, double positives, double negatives);

/// The width to be expected of delong_interval(): with the standard error of
/// expected_area_error(), for rows of which a part of `prevalence` are
/// positive. Throws c10::ValueError for an area outside [0, 1], a prevalence or
/// level outside (0, 1), and negative rows. NaN for fewer than one row of
/// either class.
double expected_area_width(double area, double prevalence, double rows,
                           double level);

/// The fewest rows, two of each class at least, for which
/// expected_area_width() is at most `width`. Throws c10::ValueError as it does,
/// and for a width outside (0, 1).
///
/// Example:
///     std::int64_t n = rows_for_area(/*area=*/0.9, /*prevalence=*/0.2,
///                                    /*width=*/0.05, /*level=*/0.95);
std::int64_t rows_for_area(double area, double prevalence, double width,
                           double level);

/// Two areas under ROC curves of the same rows, as they are expected.
struct ExpectedAreas {
  double first = 0;
  double second = 0;
  /// Of the two estimates, over data sets; 0 for models on different rows.
  double correlation = 0;
  double prevalence = 0;  ///< the part of the rows that are positive
};

/// The power of DeLong's test of two areas, two-sided: the probability that
/// compare_areas(...).p_value is at most alpha.
///
///     se^2 = se1^2 + se2^2 - 2 correlation se1 se2
///     power = Phi(|d| / se - z) + Phi(-|d| / se - z), d = first - second
/// with the standard errors of expected_area_error() and the quantile z at
/// 1 - alpha / 2. alpha for equal areas; NaN for fewer than one row of either
/// class, and a standard error of 0. Throws c10::ValueError for areas outside
/// [0, 1], a correlation outside (-1, 1), a prevalence or alpha outside (0, 1),
/// and negative rows. Source: Hanley and McNeil 1983, Obuchowski and McClish
/// 1997.
///
/// Example:
///     double power = compared_areas_power({0.9, 0.87, 0.5, 0.2},
///                                         /*rows=*/2000, /*alpha=*/0.05);
double compared_areas_power(const ExpectedAreas& areas, double rows,
                            double alpha);

/// The fewest rows, two of each class at least, for which
/// compared_areas_power() is at least `power`. Throws c10::ValueError as it
/// does, for equal areas, and for a power outside (0, 1).
std::int64_t rows_for_compared_areas(const ExpectedAreas& areas, double power,
                                     double alpha);

namespace internal::intervals {

/// The fewest rows of which two of each class are expected, without which no
/// area is planned.
std::int64_t rows_for_both_classes(double prevalence);

}  // namespace internal::intervals
}  // namespace tally
