#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/losses/contrastive/loss_call.h"
#include "tally/losses/contrastive/pairwise_logits.h"
#include "tally/sync/agree.h"

namespace tally::losses::internal {

struct SameLabelInputs {
  at::Tensor z;       ///< this rank's rows, [n, D]
  at::Tensor labels;  ///< theirs, int64 [n]
  double scale;
  PairwiseLogits pairwise_logits;
  std::int64_t budget_bytes;
};

bool has_tiles(const SameLabelInputs& inputs);

/// The mean, over all ranks' rows that are like others, of same_label_ring.h's
/// cross entropy: a float32 or float64 number, the same on every rank. 0, with
/// gradients of 0, if there are no such rows. The ranks have agreed that they
/// come here: `agreement` is about the rows of z.
///
/// Averaged gradients are exact.
at::Tensor same_label_loss(const sync::Call& call,
                           const RowAgreement& agreement,
                           const SameLabelInputs& inputs);

/// Rows of length 1, float32 or float64. Rows of length 0 remain so.
at::Tensor normalized(const at::Tensor& features);

}  // namespace tally::losses::internal
