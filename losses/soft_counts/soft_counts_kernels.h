#pragma once

#include <cstdint>

#include "tally/losses/common/score_block.h"

/// Soft confusion counts of a block of positions while it is in the cache, and
/// their gradients.
namespace tally::losses::internal {

/// What is counted.
struct ScoreRule {
  Activation activation;
  /// min(p, y) instead of p * y.
  bool soft_labels;
};

/// The sums of a class, in this order: p * y, p, y, 1.
inline constexpr std::int64_t kSoftCounts = 4;

/// Adds to [kSoftCounts][classes] sums.
void add_soft_counts(const ScoreBlock<float>& block, const ScoreRule& rule,
                     double* sums);
void add_soft_counts(const ScoreBlock<double>& block, const ScoreRule& rule,
                     double* sums);

/// The gradients of scores, rows of classes, given those of the first two sums
/// of each class.
void soft_count_gradients(const ScoreBlock<float>& block, const ScoreRule& rule,
                          const float* both, const float* preds,
                          float* gradients, std::int64_t stride);
void soft_count_gradients(const ScoreBlock<double>& block,
                          const ScoreRule& rule, const double* both,
                          const double* preds, double* gradients,
                          std::int64_t stride);

}  // namespace tally::losses::internal
