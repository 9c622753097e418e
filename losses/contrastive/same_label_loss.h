#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/losses/common/loss_call.h"
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

/// The mean of same_label_ring.h's cross entropy over all ranks' rows that have
/// positives: a float32 or float64 number, the same on every rank. 0, with zero
/// gradients, if there are no such rows. The ranks must have agreed on this
/// call: `agreement` is about the rows of z.
///
/// Gradients are exact when averaged.
at::Tensor same_label_loss(const sync::Call& call,
                           const RowAgreement& agreement,
                           const SameLabelInputs& inputs);

/// Normalizes rows to length 1, in float32 or float64. Rows of length 0 remain
/// unchanged.
at::Tensor normalized(const at::Tensor& features);

}  // namespace tally::losses::internal
