#pragma once

#include <vector>

#include "tally/losses/contrastive/ring.h"
#include "tally/sync/agree.h"

/// The symmetric cross entropy of two sides' rows, over all ranks' rows as
/// columns: for each of M pairs i,
///
///     log sum_j exp(s <a_i, b_j>) + log sum_j exp(s <a_j, b_i>) - 2 s <a_i,
///     b_i>
///
/// Logits exist a tile at a time. The b rows travel round the ring of ranks,
/// and with them what they gather on their way: forward, their running maxima
/// and sums; backward, their gradients.
///
/// A pair's logit is apart from all sums: its two terms are log(1 + exp(d))
/// with d = log sum_{j != i} exp(s <a_i, b_j>) - s <a_i, b_i>. So a loss near
/// 0, and the gradients that belong to it, have all their digits.
namespace tally::losses::internal {

struct SoftmaxProblem {
  sync::Call call;
  RankRows rows;
  /// This rank's, contiguous, float32 or float64, without a graph.
  at::Tensor a, b;
  double scale;
  /// Products are kept for the backward pass if they fit in this.
  std::int64_t budget_bytes = 0;
};

/// Of each row (column), over the columns (rows) that are not its pair.
struct SoftmaxSide {
  at::Tensor max;              ///< the largest product, -infinity without any
  std::vector<double> wrong;   ///< how probable they are, all together
  std::vector<double> factor;  ///< the same, by the sum of exp(s (q - max))
};

struct SoftmaxState {
  double loss = 0;  ///< the sum over this rank's pairs
  /// The sum of s (q - q of the pair) times probabilities, by s.
  double slope = 0;
  SoftmaxSide rows, columns;
  std::vector<at::Tensor> products;  ///< in the order of their computation
};

struct SoftmaxGradients {
  at::Tensor a, b;
  /// This rank's part, which makes sense only in the sum over the ranks.
  double scale;
};

SoftmaxState softmax_forward(const SoftmaxProblem& problem);

/// Of the sum over ranks r of weights[r] times r's loss. Uses up the products;
/// without them they are computed again.
SoftmaxGradients softmax_backward(const SoftmaxProblem& problem,
                                  SoftmaxState& state,
                                  const std::vector<double>& weights);

}  // namespace tally::losses::internal
