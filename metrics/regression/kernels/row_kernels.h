#pragma once

#include <cstdint>
#include <optional>

/// Sums of the scores of rows, in float64, in as wide vectors as the processor
/// has. Each is defined for float, double and std::int64_t.
namespace tally::internal::regression {

/// Of rows a and b:
enum class RowKind {
  kKL,             // sum_d p_d log(p_d / q_d), p and q normalised by their sums
  kJensenShannon,  // the mean divergence of both from their mean
  kCosine,         // 0 for zeros
};

/// Of rows [rows, size] of both, size at least 1. Writes each score, too,
/// unless `scores` is null. Nothing for rows without shares (of zeros,
/// infinite, with NaN or something below 0), and for shares and divergences
/// that are out of the ordinary; then what is written means nothing.
std::optional<double> row_scores(RowKind kind, const float* a, const float* b,
                                 std::int64_t rows, std::int64_t size,
                                 double* scores);
std::optional<double> row_scores(RowKind kind, const double* a, const double* b,
                                 std::int64_t rows, std::int64_t size,
                                 double* scores);
std::optional<double> row_scores(RowKind kind, const std::int64_t* a,
                                 const std::int64_t* b, std::int64_t rows,
                                 std::int64_t size, double* scores);

/// Above this, sorting the members of an ensemble takes less time than
/// comparing all of them.
constexpr std::int64_t kFewMembers = 64;

/// The sum over rows of sum_i |p_i - t| / M - sum_ij |p_i - p_j| / (2 M^2).
/// REQUIRES: 1 <= members <= kFewMembers.
double ensemble_score_sum(const float* preds, const float* target,
                          std::int64_t rows, std::int64_t members);
double ensemble_score_sum(const double* preds, const double* target,
                          std::int64_t rows, std::int64_t members);
double ensemble_score_sum(const std::int64_t* preds, const std::int64_t* target,
                          std::int64_t rows, std::int64_t members);

}  // namespace tally::internal::regression
