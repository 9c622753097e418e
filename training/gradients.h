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

/// sync::average_gradients of all parameters of a module, which must be the
/// same on every rank; ranks may have used different ones.
///
/// Example:
///     torch::nn::Linear layer(3, 2);
///     layer->forward(x).sum().backward();
///     training::average_gradients(*layer);
void average_gradients(
    const torch::nn::Module& module,
    std::shared_ptr<sync::Communicator> communicator = nullptr,
    sync::Timeout timeout = {});

/// Options of average_and_clip_gradients.
struct ClipGradientsOptions {
  ClipGradientsOptions(double max_norm) : max_norm_(max_norm) {}
  /// Upper bound of the norm.
  TORCH_ARG(double, max_norm);
  /// Order of the norm: 2, another positive number, or infinity. Default: 2.
  TORCH_ARG(double, norm_type) = 2;
  /// Throw c10::Error, on every rank, if the norm is infinite or NaN; the
  /// gradients are then averaged, but not scaled. Default: false.
  TORCH_ARG(bool, error_if_nonfinite) = false;
  /// See sync::average_gradients.
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
  TORCH_ARG(sync::Timeout, timeout) = {};
};

/// Averages the gradients over the ranks like average_gradients(), which it
/// replaces, and then scales them like torch::nn::utils::clip_grad_norm_ in a
/// single process, by
///
///     min(1, max_norm / (norm + 1e-6))
///
/// Returns the norm of the averaged gradients before scaling. Norm and
/// gradients are bit-identical on every rank, for any number of threads: the
/// norm is summed in float64, in a fixed order. If instead each rank clipped by
/// its own norm before averaging, the result would not be the gradient of any
/// loss.
///
/// Throws c10::ValueError for a max_norm that is negative or NaN and a
/// norm_type that is not positive, while the other ranks throw SyncError
/// kPeerFailed; gradients are then unchanged. Otherwise the errors of
/// average_gradients.
///
/// Example:
///     double norm =
///     training::average_and_clip_gradients(model->parameters(), 1.0);
double average_and_clip_gradients(const std::vector<at::Tensor>& parameters,
                                  const ClipGradientsOptions& options);
double average_and_clip_gradients(const torch::nn::Module& module,
                                  const ClipGradientsOptions& options);

/// Until 0.2.0.
using ClipGradNormOptions = ClipGradientsOptions;
template <class Gradients>
double clip_grad_norm(const Gradients& gradients,
                      const ClipGradientsOptions& options) {
  return average_and_clip_gradients(gradients, options);
}

}  // namespace tally::training
