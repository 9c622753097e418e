#pragma once

#include <vector>

#include "tally/losses/common/ring.h"
#include "tally/losses/common/tile_kernels.h"
#include "tally/sync/agree.h"

/// The cross entropy of rows among themselves, over all ranks' rows: for each
/// row i with positives (the set P_i of other rows with the same label),
///
///     log sum_{j != i} exp(s <z_i, z_j>) - 1/|P_i| sum_{p in P_i} s <z_i, z_p>
///
/// The rows travel around the ring of ranks in both passes. As logits are
/// symmetric, the gradient of a row as another one's column is also computed
/// locally: no gradients travel.
///
/// Positives have separate sums: with a single positive, as in NT-Xent, a loss
/// near 0 and its gradients keep full precision.
namespace tally::losses::internal {

struct SameLabelProblem {
  sync::Call call;
  RankRows rows;
  /// This rank's rows, contiguous, float32 or float64, without a graph.
  at::Tensor z;
  /// Their labels, int64 on the CPU, contiguous.
  at::Tensor labels;
  double scale;
  /// Products are kept for the backward pass if they fit in this budget.
  std::int64_t budget_bytes = 0;
};

struct SameLabelState {
  double loss = 0;        ///< the sum over this rank's rows
  std::int64_t rows = 0;  ///< of this rank, with positives
  std::vector<SameLabelStatistics> statistics;
  std::vector<at::Tensor> products;  ///< in the order of their computation
};

SameLabelState same_label_forward(const SameLabelProblem& problem);

/// The gradient of `weight` times the loss of all ranks. Consumes the products;
/// missing ones are recomputed.
at::Tensor same_label_backward(const SameLabelProblem& problem,
                               SameLabelState& state, double weight);

}  // namespace tally::losses::internal
