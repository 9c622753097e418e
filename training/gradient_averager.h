#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tally/sync/communicator.h"
#include "tally/training/gradients.h"

namespace tally::training {

/// Options of GradientAverager.
struct GradientAveragerOptions {
  /// Gradients are averaged in buckets of this many bytes. Default: 4 MB.
  TORCH_ARG(std::int64_t, bucket_bytes) = std::int64_t{4} << 20;
  /// A group used for nothing else. Default: sync::duplicate() of the default
  /// communicator, which is one over Gloo.
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
};

/// Averages gradients over the ranks during the backward pass: equivalent to
/// loss.backward() followed by average_gradients(), but faster if there is much
/// data to send.
///
/// backward() sets each parameter's gradient to its mean over the ranks,
/// including earlier backward passes: all micro-batches except the last go
/// through loss.backward() and communicate nothing. A rank's loss need not use
/// all parameters. Means are those of average_gradients, up to the order in
/// which 3 or more ranks are summed, and bit-identical on every rank.
///
/// It communicates on a separate group, from a separate thread, so that
/// collectives of the loss's backward pass, or of metrics, never interfere with
/// those of the gradients. It holds one additional copy of the gradients during
/// its lifetime, on the device of the parameters. Over a group that takes
/// tensors there (NCCL), it is summed in place; otherwise each bucket goes
/// through a copy on the CPU. In a single process it only calls
/// loss.backward().
///
/// The constructor and backward() are collective. Parameters that require
/// gradients at construction are used; they must not be moved later. SyncError
/// kMismatch, on every rank, if they differ; c10::ValueError for a parameter
/// that is not a leaf, for invalid options, and for a group on one device with
/// parameters on another, while the other ranks throw kPeerFailed. An error of
/// backward() on one rank, including loss.backward(), is kPeerFailed on the
/// others: gradients are then the rank's own, and backward() may be called
/// again.
///
/// Thread-safety: one thread at a time.
///
/// Example:
///     training::GradientAverager averager(model->parameters());
///     losses::MetricLoss loss{MeanSquaredError()};
///     for (auto& batch : *loader) {
///       optimizer.zero_grad();
///       averager.backward(
///           loss->forward(model->forward(batch.data), batch.target));
///       averager.clip_grad_norm(1.0);
///       optimizer.step();
///     }
class GradientAverager {
 public:
  explicit GradientAverager(
      const std::vector<at::Tensor>& parameters,
      GradientAveragerOptions options = GradientAveragerOptions());
  explicit GradientAverager(
      const torch::nn::Module& module,
      GradientAveragerOptions options = GradientAveragerOptions());
  ~GradientAverager();
  GradientAverager(const GradientAverager&) = delete;
  GradientAverager& operator=(const GradientAverager&) = delete;

  /// Calls loss.backward(gradient) and averages the gradients over the ranks. A
  /// parameter that no rank has used gets no gradient.
  void backward(const at::Tensor& loss, const at::Tensor& gradient = {});

  /// clip_grad_norm() of the gradients averaged by backward(), without
  /// communication.
  double clip_grad_norm(const ClipGradientsOptions& options) const;

  /// Number of sums that a backward pass is split into.
  std::int64_t buckets() const;

 private:
  class Averaging;
  std::unique_ptr<Averaging> averaging_;
};

}  // namespace tally::training
