#pragma once

#include "tally/metrics/options.h"

namespace tally::losses {

/// How a loss over pairs of rows is computed.
enum class PairwiseLogits {
  /// One tile of the logits at a time, recomputed in the backward pass, while
  /// features travel around the ring of ranks. Memory does not grow with the
  /// number of ranks. For features on the CPU; elsewhere kGathered is used.
  /// Second-order gradients are rejected with an error.
  kTiled,
  /// Gathered features, and all of this rank's rows of logits. Second-order
  /// gradients are supported.
  kGathered,
};

}  // namespace tally::losses

namespace tally {
template <>
struct EnumNames<losses::PairwiseLogits> {
  static constexpr const char* kNames[] = {"tiled", "gathered"};
};
}  // namespace tally
