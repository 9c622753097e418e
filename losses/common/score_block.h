#pragma once

#include <cstdint>

namespace tally::losses::internal {

/// How scores become probabilities.
enum class Activation { kNone, kSigmoid, kSoftmax };

/// The number of positions of a block is a multiple of this.
inline constexpr std::int64_t kPositionUnit = 16;

/// Rows of classes, each with `size` positions, while they are in the cache.
/// Positions that do not count have a negative target.
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
  bool index;
};

}  // namespace tally::losses::internal
