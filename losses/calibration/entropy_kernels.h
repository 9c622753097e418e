#pragma once

#include <cstdint>

#include "tally/losses/common/score_block.h"

/// The cross-entropy of a block of positions, and its gradient.
namespace tally::losses::internal {

/// With q = kept * y + spread, a class has the term weight * q * focal(p),
/// where focal(p) = -log(p) (1 - p)^gamma.
template <class T>
struct EntropyRule {
  bool softmax;      ///< otherwise a sigmoid, with 1 - q for 1 - p
  const T* weights;  ///< of classes
  T kept, spread;
  T gamma;
  T of_1, of_0;  ///< with a sigmoid, what the terms of p and 1 - p are times

  /// Whether a position's class is all that has a term.
  bool is_of_class(bool index) const { return softmax && index && spread == 0; }
};

/// Of positions that count: terms, and the weights that they are divided by.
inline constexpr std::int64_t kEntropySums = 2;

/// Adds to kEntropySums sums. Keeps what a softmax was computed from.
void add_entropy(const ScoreBlock<float>& block, const EntropyRule<float>& rule,
                 double* sums);
void add_entropy(const ScoreBlock<double>& block,
                 const EntropyRule<double>& rule, double* sums);

/// The gradients of scores, in rows as theirs, given that of the first sum. Of
/// what was kept, if there is a softmax. Takes blocks by position where
/// is_of_class().
void entropy_gradients(const ScoreBlock<float>& block,
                       const EntropyRule<float>& rule, float given,
                       float* gradients, std::int64_t stride);
void entropy_gradients(const ScoreBlock<double>& block,
                       const EntropyRule<double>& rule, double given,
                       double* gradients, std::int64_t stride);

}  // namespace tally::losses::internal
