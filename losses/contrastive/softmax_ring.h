#pragma once

#include <vector>

#include "tally/losses/common/ring.h"
#include "tally/sync/agree.h"

/// The symmetric cross entropy of the rows of two sides, with all ranks' rows
/// as columns: for each of M pairs i,
///
///     log sum_j exp(s <a_i, b_j>) + log sum_j exp(s <a_j, b_i>) - 2 s <a_i,
///     b_i>
///
/// Logits are computed one tile at a time. The rows of b travel around the ring
/// of ranks, together with the values accumulated for them: their running
/// maxima and sums in forward, their gradients in backward.
///
/// A pair's logit is kept out of all sums: its two terms are log(1 + exp(d))
/// with d = log sum_{j != i} exp(s <a_i, b_j>) - s <a_i, b_i>. A loss near 0
/// and its gradients thus keep full precision.
namespace tally::losses::internal {

struct SoftmaxProblem {
  sync::Call call;
  RankRows rows;
  /// This rank's rows, contiguous, float32 or float64, without a graph.
  at::Tensor a, b;
  double scale;
  /// Products are kept for the backward pass if they fit in this budget.
  std::int64_t budget_bytes = 0;
};

/// Statistics of each row (column) over the columns (rows) other than its pair.
struct SoftmaxSide {
  at::Tensor max;              ///< the largest product, -infinity if none
  std::vector<double> wrong;   ///< their total probability
  std::vector<double> factor;  ///< `wrong` over the sum of exp(s (q - max))
};

struct SoftmaxState {
  double loss = 0;  ///< the sum over this rank's pairs
  /// The derivative by s of the sum of s (q - q of the pair) times
  /// probabilities.
  double slope = 0;
  SoftmaxSide rows, columns;
  std::vector<at::Tensor> products;  ///< in the order of their computation
};

struct SoftmaxGradients {
  at::Tensor a, b;
  /// This rank's part; only meaningful when summed over the ranks.
  double scale;
};

SoftmaxState softmax_forward(const SoftmaxProblem& problem);

/// Gradients of the sum over ranks r of weights[r] times r's loss. Consumes the
/// products; missing ones are recomputed.
SoftmaxGradients softmax_backward(const SoftmaxProblem& problem,
                                  SoftmaxState& state,
                                  const std::vector<double>& weights);

}  // namespace tally::losses::internal
