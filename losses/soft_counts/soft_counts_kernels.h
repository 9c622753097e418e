#pragma once

#include <cstdint>

/// Soft confusion counts of a block of positions while it is in the cache, and
/// their gradients.
namespace tally::losses::internal {

/// How scores become probabilities.
enum class Activation { kNone, kSigmoid, kSoftmax };

/// The number of positions of a block is a multiple of this.
inline constexpr std::int64_t kPositionUnit = 16;

/// Rows of classes, each with `size` positions. Positions that do not count
/// have a negative target.
template <class T>
struct ScoreBlock {
  const T* scores;
  std::int64_t score_stride;  ///< between classes
  /// The class of each position if `index`, otherwise a row for each class.
  const T* target;
  std::int64_t target_stride;
  T* probabilities;  ///< memory, [classes][size]
  std::int64_t classes;
  std::int64_t size;
  Activation activation;
  bool index;
  /// min(p, y) instead of p * y.
  bool soft_labels;
};

/// The sums of a class, in this order: p * y, p, y, 1.
inline constexpr std::int64_t kSoftCounts = 4;

/// Adds to [kSoftCounts][classes] sums.
void add_soft_counts(const ScoreBlock<float>& block, double* sums);
void add_soft_counts(const ScoreBlock<double>& block, double* sums);

/// The gradients of scores, rows of classes, given those of the first two sums
/// of each class.
void soft_count_gradients(const ScoreBlock<float>& block, const float* both,
                          const float* preds, float* gradients,
                          std::int64_t stride);
void soft_count_gradients(const ScoreBlock<double>& block, const double* both,
                          const double* preds, double* gradients,
                          std::int64_t stride);

}  // namespace tally::losses::internal
