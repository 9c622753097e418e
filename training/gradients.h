#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>

#include <memory>
#include <vector>

#include "tally/sync/average_gradients.h"
#include "tally/sync/communicator.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace tally::training {

/// sync::average_gradients of all parameters of a module. Its parameters are
/// the same on every rank; each rank may have used others of them.
///
/// Example:
///     torch::nn::Linear layer(3, 2);
///     layer->forward(x).sum().backward();
///     training::average_gradients(*layer);
void average_gradients(
    const torch::nn::Module& module,
    std::shared_ptr<sync::Communicator> communicator = nullptr,
    sync::Timeout timeout = {});

/// Options of clip_grad_norm.
struct ClipGradNormOptions {
  ClipGradNormOptions(double max_norm) : max_norm_(max_norm) {}
  /// What the norm is at most afterwards.
  TORCH_ARG(double, max_norm);
  /// Of which norm: 2, another positive number, or infinity. Default: 2.
  TORCH_ARG(double, norm_type) = 2;
  /// Throw c10::Error, on every rank, if the norm is infinite or NaN; the
  /// gradients are averaged then, and not scaled. Default: false.
  TORCH_ARG(bool, error_if_nonfinite) = false;
  /// See sync::average_gradients.
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
  TORCH_ARG(sync::Timeout, timeout) = {};
};

/// Averages the gradients over the ranks, as average_gradients(), in the place
/// of which it is called, and then scales them as
/// torch::nn::utils::clip_grad_norm_ does in one process: by
///
///     min(1, max_norm / (norm + 1e-6))
///
/// Returns the norm of the averaged gradients before that. Norm and gradients
/// are bit-equal on every rank, whatever its number of threads: the norm is
/// summed in float64, in a fixed order. Gradients that each rank clips by its
/// own norm before they are averaged are those of no loss.
///
/// Throws c10::ValueError for a max_norm that is negative or NaN and a
/// norm_type that is not positive, and the other ranks SyncError kPeerFailed;
/// gradients are unchanged then. Else as average_gradients.
///
/// Example:
///     double norm = training::clip_grad_norm(model->parameters(), 1.0);
double clip_grad_norm(const std::vector<at::Tensor>& parameters,
                      const ClipGradNormOptions& options);
double clip_grad_norm(const torch::nn::Module& module,
                      const ClipGradNormOptions& options);

}  // namespace tally::training
