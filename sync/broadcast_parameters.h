#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::sync {

/// Writes the values that rank `root` has into these tensors on every rank, so
/// that a model begins the same everywhere: LibTorch seeds each process at
/// random. To be called once, before training, for parameters and for buffers.
/// One process: no-op.
///
/// Every rank passes tensors of the same dtypes and sizes in the same order; of
/// any dtype and memory layout, on any device. They are bit-equal afterwards.
///
/// Two collectives: one in which the ranks agree on what there is, and one
/// broadcast, for which a flat copy is held. Throws SyncError: kMismatch on
/// every rank if the tensors or the roots differ; c10::ValueError for tensors
/// that are undefined, expanded, not dense, or made in inference mode and to be
/// written to outside it, and for a root that is no rank, and the other ranks
/// kPeerFailed. Tensors are unchanged after an error.
///
/// Example:
///     torch::nn::Linear model(3, 2);
///     tally::sync::broadcast_parameters(model->parameters());
///     tally::sync::broadcast_parameters(model->buffers());
void broadcast_parameters(const std::vector<at::Tensor>& tensors, int root = 0,
                          std::shared_ptr<Communicator> communicator = nullptr,
                          Timeout timeout = {});

}  // namespace tally::sync
