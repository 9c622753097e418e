#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::sync {

/// Replaces each parameter's gradient by its mean over the ranks; call it
/// between backward() and the optimizer's step. With the losses and metrics of
/// this library, the mean is the gradient of the global batch. Parameters that
/// start equal on all ranks (see broadcast_parameters) stay equal. No-op in a
/// single process.
///
/// Every rank passes the same parameters in the same order. A gradient that is
/// undefined on some ranks is treated as zeros there, and defined afterwards;
/// one that is undefined on all of them stays undefined. float16 and bfloat16
/// are summed in float32. The result is bit-identical on every rank.
///
/// Takes two collectives: an agreement on the gradients, and a sum over all of
/// them (two sums if float32 and float64 are mixed), using a flat copy of the
/// gradients. Throws SyncError: kMismatch on every rank if the parameters
/// differ; c10::ValueError for gradients that cannot be summed, such as sparse
/// ones, and for inference tensors outside inference mode, while the other
/// ranks throw kPeerFailed. Gradients are unchanged after an error.
///
/// Example:
///     loss.backward();
///     tally::sync::average_gradients(model->parameters());
///     optimizer.step();
void average_gradients(const std::vector<at::Tensor>& parameters,
                       std::shared_ptr<Communicator> communicator = nullptr,
                       Timeout timeout = {});

}  // namespace tally::sync
