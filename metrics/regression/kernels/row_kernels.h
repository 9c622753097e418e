#pragma once

#include <cstdint>
#include <optional>

/// Sums of the scores of rows, in float64, with the widest vectors of the
/// processor. Each is defined for float, double and std::int64_t.
namespace tally::internal::regression {

/// Scores of rows a and b:
enum class RowKind {
  kKL,             // sum_d p_d log(p_d / q_d), p and q normalized by their sums
  kJensenShannon,  // the mean divergence of both from their mean
  kCosine,         // 0 for rows of zeros
};

/// For rows [rows, size] of both, size at least 1. Also writes each score,
/// unless `scores` is null. Nothing for rows that cannot be normalized (zeros,
/// infinity, NaN or negative values), and for extreme probabilities and
/// divergences; the written scores are then meaningless.
std::optional<double> row_scores(RowKind kind, const float* a, const float* b,
                                 std::int64_t rows, std::int64_t size,
                                 double* scores);
std::optional<double> row_scores(RowKind kind, const double* a, const double* b,
                                 std::int64_t rows, std::int64_t size,
                                 double* scores);
std::optional<double> row_scores(RowKind kind, const std::int64_t* a,
                                 const std::int64_t* b, std::int64_t rows,
                                 std::int64_t size, double* scores);

/// Above this, sorting the members of an ensemble is faster than comparing all
/// of them.
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
