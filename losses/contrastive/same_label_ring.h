#pragma once

#include <vector>

#include "tally/losses/contrastive/ring.h"
#include "tally/losses/contrastive/tile_kernels.h"
#include "tally/sync/agree.h"

/// The cross entropy of rows among themselves, over all ranks' rows: for each
/// row i that is like some others (their set P_i: the same label),
///
///     log sum_{j != i} exp(s <z_i, z_j>) - 1/|P_i| sum_{p in P_i} s <z_i, z_p>
///
/// The rows travel round the ring of ranks, in both passes. As logits are
/// symmetric, what reaches a row as another one's column is found here too:
/// no gradients travel.
///
/// Positives have sums of their own: where there is just one, as in NT-Xent, a
/// loss near 0 and its gradients have all their digits.
namespace tally::losses::internal {

struct SameLabelProblem {
  sync::Call call;
  RankRows rows;
  /// This rank's, contiguous, float32 or float64, without a graph.
  at::Tensor z;
  /// Theirs, int64 on the CPU, contiguous.
  at::Tensor labels;
  double scale;
  /// Products are kept for the backward pass if they fit in this.
  std::int64_t budget_bytes = 0;
};

struct SameLabelState {
  double loss = 0;        ///< the sum over this rank's rows
  std::int64_t rows = 0;  ///< of this rank, that are like others
  std::vector<SameLabelStatistics> statistics;
  std::vector<at::Tensor> products;  ///< in the order of their computation
};

SameLabelState same_label_forward(const SameLabelProblem& problem);

/// The gradient of `weight` times the loss of all ranks. Uses up the products;
/// without them they are computed again.
at::Tensor same_label_backward(const SameLabelProblem& problem,
                               SameLabelState& state, double weight);

}  // namespace tally::losses::internal
