#pragma once

#include "tally/losses/common/ring.h"
#include "tally/sync/agree.h"

/// The pairwise sigmoid loss of the rows of two sides, where those of b travel
/// around the ring of ranks: for M pairs, the sum over i and j of softplus(s
/// <a_i, b_j> + c), and of softplus(-...) for i = j. Each term depends on a
/// single logit, so that one round also computes the gradients.
namespace tally::losses::internal {

struct SigmoidProblem {
  sync::Call call;
  RankRows rows;
  /// This rank's rows, contiguous, float32 or float64, without a graph.
  at::Tensor a, b;
  double scale;
  double bias;
};

/// Sums over this rank's rows of a and all columns; the gradient of b includes
/// all rows.
struct SigmoidResult {
  double loss = 0;
  at::Tensor a_gradient, b_gradient;
  double scale_gradient = 0;
  double bias_gradient = 0;
};

/// Gradients, if requested, are those of `weight` times the loss.
SigmoidResult sigmoid_round(const SigmoidProblem& problem, bool with_gradients,
                            double weight);

}  // namespace tally::losses::internal
