#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::sync {

/// Copies the values on rank `root` into these tensors on every rank, so that a
/// model starts the same everywhere: LibTorch seeds each process randomly. Call
/// it once before training, for parameters and for buffers. No-op in a single
/// process.
///
/// Every rank passes tensors of the same dtypes and sizes in the same order; of
/// any dtype and memory layout, on any device. They are bit-identical
/// afterwards.
///
/// Takes two collectives: an agreement on the tensors, and one broadcast of a
/// flat copy. Throws SyncError: kMismatch on every rank if the tensors or the
/// roots differ; c10::ValueError for tensors that are undefined, expanded, not
/// dense, or inference tensors outside inference mode, and for an invalid root,
/// while the other ranks throw kPeerFailed. Tensors are unchanged after an
/// error.
///
/// Example:
///     torch::nn::Linear model(3, 2);
///     tally::sync::broadcast_parameters(model->parameters());
///     tally::sync::broadcast_parameters(model->buffers());
void broadcast_parameters(const std::vector<at::Tensor>& tensors, int root = 0,
                          std::shared_ptr<Communicator> communicator = nullptr,
                          Timeout timeout = {});

}  // namespace tally::sync
