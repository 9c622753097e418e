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
  /// Gradients are averaged as soon as there are so many bytes of them.
  /// Default: 4 MB.
  TORCH_ARG(std::int64_t, bucket_bytes) = std::int64_t{4} << 20;
  /// A group that nothing else uses. Default: sync::duplicate() of the default
  /// communicator.
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
};

/// Averages gradients over the ranks while the backward pass goes on: what
/// loss.backward() and average_gradients() do one after the other, in less
/// time where there is much to send.
///
/// backward() gives each parameter the mean over the ranks of what it holds
/// then, earlier backward passes included: micro-batches other than the last go
/// through loss.backward() and communicate nothing. A rank's loss need not
/// reach all parameters. Means are those of average_gradients, up to the order
/// in which 3 or more ranks are summed, and bit-equal on every rank.
///
/// It communicates on a group of its own, from a thread of its own, so that
/// collectives of the loss's backward pass, or of metrics, never meet those of
/// the gradients. The gradients are copied once more, for as long as it lives.
/// One process: no more than loss.backward().
///
/// The constructor and backward() are collective. Parameters are those that
/// require gradients when it is made; they stay where they are from then on.
/// SyncError kMismatch, on every rank, if they differ; c10::ValueError for one
/// that is no leaf, for options that cannot be, and a group that is not on the
/// CPU, and the other ranks kPeerFailed. What backward() throws on one rank,
/// loss.backward() included, is kPeerFailed on the others: gradients are then
/// the rank's own, and the next backward() may follow.
///
/// Thread-safety: one thread at a time.
///
/// Example:
///     training::GradientAverager averager(model->parameters());
///     for (const Batch& batch : batches) {
///       averager.backward(loss_of(batch));
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

  /// loss.backward(gradient), and the mean over the ranks of the gradients. A
  /// parameter that no rank has used keeps no gradient.
  void backward(const at::Tensor& loss, const at::Tensor& gradient = {});

  /// clip_grad_norm() of what backward() has averaged, without communication.
  double clip_grad_norm(const ClipGradNormOptions& options) const;

  /// How many sums a backward pass is cut into.
  std::int64_t buckets() const;

 private:
  class Averaging;
  std::unique_ptr<Averaging> averaging_;
};

}  // namespace tally::training
