#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::sync {

/// Replaces each parameter's gradient by its mean over the ranks; to be called
/// between backward() and the optimizer's step. With the losses and metrics of
/// this library that is the gradient of the global batch. Ranks whose
/// parameters are equal at first (see broadcast_parameters) keep them so. One
/// process: no-op.
///
/// Every rank passes the same parameters in the same order. A gradient that is
/// undefined on some ranks counts as zeros there, and is defined afterwards;
/// one that is undefined on all of them stays so. float16 and bfloat16 are
/// summed in float32. The result is bit-equal on every rank.
///
/// Two collectives: one in which the ranks agree on what there is, and one sum
/// over all gradients (one more if float32 and float64 occur together), for
/// which a flat copy of the gradients is held. Throws SyncError: kMismatch on
/// every rank if the parameters differ; c10::ValueError for sparse and other
/// gradients that cannot be summed, for those made in inference mode outside
/// it, and the other ranks kPeerFailed. Gradients are unchanged after an error.
///
/// Example:
///     loss.backward();
///     tally::sync::average_gradients(model->parameters());
///     optimizer.step();
void average_gradients(const std::vector<at::Tensor>& parameters,
                       std::shared_ptr<Communicator> communicator = nullptr,
                       Timeout timeout = {});

}  // namespace tally::sync
