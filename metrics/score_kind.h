#pragma once

#include <c10/util/Exception.h>

#include <cstddef>

#include "tally/metrics/options.h"

namespace tally {

/// The kind of scores in preds. Always specified, never guessed from their
/// values.
enum class ScoreKind {
  kProbabilities,  ///< in [0, 1]; other values are rejected
  kLogits,         ///< before the sigmoid (binary) or softmax (multiclass)
  kScores,         ///< any numbers, used by their order: exact curves only
};

/// The first of them, for metrics that need probabilities.
inline constexpr std::size_t kProbabilityKinds = 2;

template <>
struct EnumNames<ScoreKind> {
  static constexpr const char* kNames[] = {"probabilities", "logits", "scores"};
};

namespace internal::classification {

/// Throws c10::ValueError for kScores, for a metric that needs probabilities.
inline void check_probability_kind(const char* metric, ScoreKind input) {
  TORCH_CHECK_VALUE(input != ScoreKind::kScores, metric,
                    ": expected input to be probabilities or logits, got "
                    "scores, which are for curves without thresholds");
}

}  // namespace internal::classification

}  // namespace tally
