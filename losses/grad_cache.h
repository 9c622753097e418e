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
  /// Number of micro-batches for this rank's rows; may differ between ranks.
  GradCacheOptions(std::int64_t micro_batches)
      : micro_batches_(micro_batches) {}

  TORCH_ARG(std::int64_t, micro_batches);
  /// The ranks of the loss. Default: sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
};

/// `loss(encode(batch)).backward()` for batches whose activations do not fit
/// into memory: exact gradient accumulation for losses over all pairs of rows,
/// also over ranks.
///
/// The batch's tensors are split by rows into micro-batches. Each is passed to
/// `encode` without a graph; `loss` gets the concatenated representations of
/// the whole batch, and its backward pass computes their gradients; then each
/// micro-batch is passed to `encode` again, with a graph and the same random
/// numbers, and the gradients are backpropagated. This costs one additional
/// forward pass of `encode`; it requires memory for one micro-batch's graph,
/// and for the representations.
///
/// Gradients are added to the parameters' grad(), including those of tensors
/// used by `loss` itself; the result equals that of backward() on the whole
/// batch. With any of Tally's losses they are exact when averaged over the
/// ranks. Returns the loss, without a graph.
///
/// `encode` returns floating-point tensors with one row per input row. It must
/// be deterministic except for random numbers, whose state is restored for the
/// second pass and finally set to that after the first; a layer with statistics
/// over the rows (batch norm) sees micro-batches, twice. A rank without rows
/// calls it without any.
///
/// Collective if `loss` is. An exception of `encode` in the first pass is
/// SyncError kPeerFailed on the other ranks. Throws c10::ValueError for invalid
/// arguments. Gao et al., arXiv 2101.06983.
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
