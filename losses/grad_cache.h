#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for cached_backward.
struct GradCacheOptions {
  /// Into how many pieces this rank's rows are cut; may differ between ranks.
  GradCacheOptions(std::int64_t micro_batches)
      : micro_batches_(micro_batches) {}

  TORCH_ARG(std::int64_t, micro_batches);
  /// The ranks that the loss goes over. Default:
  /// sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
};

/// `loss(encode(batch)).backward()` for batches whose activations do not fit
/// into memory: gradient accumulation that is exact for losses in which every
/// row meets every other one, over ranks as well.
///
/// The batch's tensors are cut by rows into micro-batches. Each goes through
/// `encode` without a graph; `loss` gets the representations of all of them
/// (joined by rows, as many as the batch has) and its backward pass gives their
/// gradients; then each micro-batch goes through `encode` once more, with a
/// graph and the same random numbers, and those gradients go backward. The
/// price is one more forward pass of `encode`; memory is that of one
/// micro-batch's graph, and of the representations.
///
/// Gradients are added to the parameters' grad(), those of tensors that `loss`
/// itself uses included; afterwards they are what backward() on the whole batch
/// would have left there. With any of Tally's losses they are exact when they
/// are then averaged over the ranks. Returns the loss, without a graph.
///
/// `encode` gives floating tensors with a row for each of its input's. It must
/// do the same thing when it is called again, except for random numbers, whose
/// state is put back and, in the end, is that after the first pass; a layer
/// that takes statistics over the rows (batch norm) sees micro-batches, twice.
/// A rank without rows calls it with none.
///
/// Collective as `loss` is. What `encode` throws in the first pass reaches the
/// other ranks as SyncError kPeerFailed. Throws c10::ValueError for arguments.
/// Gao et al., arXiv 2101.06983.
///
/// Example:
///     losses::NTXentLoss nt_xent;
///     losses::cached_backward(
///         [&](const std::vector<at::Tensor>& rows) {
///           return std::vector<at::Tensor>{model->forward(rows[0]),
///                                          model->forward(rows[1])};
///         },
///         [&](const std::vector<at::Tensor>& views) {
///           return nt_xent->forward(views[0], views[1]);
///         },
///         {x, y}, /*micro_batches=*/8);
///     sync::average_gradients(model->parameters());
at::Tensor cached_backward(
    const std::function<
        std::vector<at::Tensor>(const std::vector<at::Tensor>& rows)>& encode,
    const std::function<
        at::Tensor(const std::vector<at::Tensor>& representations)>& loss,
    const std::vector<at::Tensor>& batch, const GradCacheOptions& options);

}  // namespace tally::losses
