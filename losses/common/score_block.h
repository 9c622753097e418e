#pragma once

#include <cstdint>

namespace tally::losses::internal {

/// How scores become probabilities.
enum class Activation { kNone, kSigmoid, kSoftmax };

/// The number of positions of a block is a multiple of this.
inline constexpr std::int64_t kPositionUnit = 16;

/// Scores while they are in the cache: a row for each class, with `size`
/// positions; or, by position, rows with the classes of each. Positions that do
/// not count have a negative target.
template <class T>
struct ScoreBlock {
  const T* scores;
  std::int64_t score_stride;  ///< between rows
  /// The class of each position if `index`, otherwise a row for each class.
  const T* target;
  std::int64_t target_stride;
  T* probabilities;  ///< memory, [classes][size]
  T* kept;           ///< from forward to backward, [kKeptNumbers][size], if any
  std::int64_t classes;
  std::int64_t size;
  std::int64_t count;  ///< without those at the end that only fill it
  bool index;
  bool by_position;

  /// Where the score of a class and a position is.
  std::int64_t place(std::int64_t c, std::int64_t i) const {
    return by_position ? i * score_stride + c : c * score_stride + i;
  }
};

/// How many numbers of a position may be kept.
inline constexpr std::int64_t kKeptNumbers = 2;

}  // namespace tally::losses::internal
