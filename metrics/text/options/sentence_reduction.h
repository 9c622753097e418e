#pragma once

#include "tally/metrics/options.h"

namespace tally {

/// How the scores of sentences are reduced.
enum class SentenceReduction {
  kMean,  ///< their mean; NaN before any update
  kSum,   ///< their sum; 0 before any update
  kNone,  ///< not reduced: [N], in the order of updates and ranks
};

template <>
struct EnumNames<SentenceReduction> {
  static constexpr const char* kNames[] = {"mean", "sum", "none"};
};

namespace internal::text {

/// For options: sums and means share a state.
inline OptionRole role_of(SentenceReduction reduction) {
  return reduction == SentenceReduction::kNone ? OptionRole::kState
                                               : OptionRole::kValue;
}

}  // namespace internal::text
}  // namespace tally
