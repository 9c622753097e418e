#pragma once

#include "tally/metrics/options.h"

namespace tally {

/// What the scores in preds are. It is said, never guessed from their values.
enum class ScoreKind {
  kProbabilities,  ///< in [0, 1]
  kLogits,         ///< before the sigmoid (binary) or softmax (multiclass)
};

template <>
struct EnumNames<ScoreKind> {
  static constexpr const char* kNames[] = {"probabilities", "logits"};
};

}  // namespace tally
