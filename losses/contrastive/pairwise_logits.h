#pragma once

namespace tally::losses {

/// How a loss over pairs of rows is computed.
enum class PairwiseLogits {
  /// A tile of the logits at a time, computed again in the backward pass, while
  /// features travel round the ring of ranks. Memory does not grow with the
  /// number of ranks. For features on the CPU; elsewhere kGathered is used.
  /// Gradients of gradients are refused with an error.
  kTiled,
  /// Features gathered, and this rank's rows of logits whole. Gradients of
  /// gradients flow.
  kGathered,
};

}  // namespace tally::losses
