#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/pimpl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "tally/sync/communicator.h"

namespace tally::training {

/// Options for SyncBatchNorm1d, 2d and 3d: those of torch::nn::BatchNorm, and
/// the ranks.
struct SyncBatchNormOptions {
  /* implicit */ SyncBatchNormOptions(std::int64_t num_features)
      : num_features_(num_features) {}
  explicit SyncBatchNormOptions(const torch::nn::BatchNormOptions& options);

  /// Number of channels of the input.
  TORCH_ARG(std::int64_t, num_features);
  /// Added to the variance. Default: 1e-5.
  TORCH_ARG(double, eps) = 1e-5;
  /// Weight of a batch's statistics in the running ones; nullopt: the running
  /// ones are the average over all batches. Default: 0.1.
  TORCH_ARG(std::optional<double>, momentum) = 0.1;
  /// Whether to learn a scale and a bias. Default: true.
  TORCH_ARG(bool, affine) = true;
  /// Whether to keep running statistics, used in evaluation. Default: true.
  TORCH_ARG(bool, track_running_stats) = true;
  /// The ranks. Default: sync::default_communicator() at the time of each call.
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
  /// How long a pass may wait for other ranks. Default: the communicator's.
  TORCH_ARG(sync::Timeout, timeout) = {};
  /// Name of the layer in errors and accounts. Default: none.
  TORCH_ARG(std::string, name);
};

namespace internal {

/// The parameters and buffers of a batch norm.
struct BatchNormTensors {
  at::Tensor weight, bias;
  at::Tensor running_mean, running_var, num_batches_tracked;
};

/// Creates new ones.
BatchNormTensors batch_norm_tensors(const SyncBatchNormOptions& options);

/// `dimensions`: number of spatial dimensions, 1 to 3.
at::Tensor sync_batch_norm(const at::Tensor& input, int dimensions,
                           const SyncBatchNormOptions& options,
                           const BatchNormTensors& tensors, bool training);

void print_sync_batch_norm(std::ostream& stream, int dimensions,
                           const SyncBatchNormOptions& options);

}  // namespace internal

/// Batch normalization with the statistics of all ranks' batches together:
///
///     y = (x - mean) / sqrt(var + eps) * weight + bias
///
/// with mean and biased variance of each channel over all rows of all ranks and
/// all spatial positions. The outputs, the gradients of inputs, and, averaged
/// over the ranks, those of parameters equal those of a single process with all
/// rows, also for uneven batches and ranks without rows. Parameters and buffers
/// have the names and shapes of torch::nn::BatchNorm, so that checkpoints are
/// interchangeable.
///
/// forward(input): N x C, or N x C x L, for SyncBatchNorm1d; N x C x H x W for
/// 2d; N x C x D x H x W for 3d; floating. N may differ between ranks and be 0.
/// The result is of the same dtype and sizes; statistics are computed in
/// float32 or wider, and merged in float64 in rank order: running statistics
/// that start equal stay bit-identical on every rank.
///
/// If batch statistics are used (in training, or without running ones),
/// forward() is one collective, two for about 1000 channels or more (250 above
/// 64 ranks), and so is backward(), unless no rank's input has a graph. Every
/// rank must run backward(): docs/gradients.md. Second-order gradients are also
/// exact, and take additional exchanges. With running statistics (eval())
/// nothing is communicated.
///
/// A global batch without rows does not change running statistics.
///
/// Errors: c10::ValueError for invalid inputs, on that rank, and SyncError
/// kPeerFailed on the others; c10::ValueError on every rank if there is a
/// single value per channel; SyncError kMismatch if channels, dtypes or options
/// differ between ranks. Nothing is changed on error.
///
/// Example:
///     training::SyncBatchNorm1d norm(
///         training::SyncBatchNormOptions(4).momentum(0.2));
///     norm->forward(features);
template <std::size_t D, class Derived, class BatchNorm>
class SyncBatchNormImplBase : public torch::nn::Cloneable<Derived> {
 public:
  explicit SyncBatchNormImplBase(const SyncBatchNormOptions& own_options)
      : options(own_options) {
    SyncBatchNormImplBase::reset();
  }
  /// Replaces `other`, sharing its parameters and buffers, so that an optimizer
  /// that has them stays valid.
  explicit SyncBatchNormImplBase(
      const BatchNorm& other,
      std::shared_ptr<sync::Communicator> communicator = nullptr)
      : options(SyncBatchNormOptions(other->options)
                    .communicator(std::move(communicator))) {
    keep({other->weight, other->bias, other->running_mean, other->running_var,
          other->num_batches_tracked});
    this->train(other->is_training());
  }

  at::Tensor forward(const at::Tensor& input) {
    return internal::sync_batch_norm(
        input, D, options,
        {weight, bias, running_mean, running_var, num_batches_tracked},
        this->is_training());
  }

  /// For Cloneable: recreates parameters and buffers.
  void reset() override { keep(internal::batch_norm_tensors(options)); }
  void pretty_print(std::ostream& stream) const override {
    internal::print_sync_batch_norm(stream, D, options);
  }

  SyncBatchNormOptions options;
  /// Undefined without affine.
  at::Tensor weight, bias;
  /// Undefined without track_running_stats.
  at::Tensor running_mean, running_var, num_batches_tracked;

 private:
  void keep(const internal::BatchNormTensors& tensors) {
    const bool affine = options.affine();
    weight = this->register_parameter("weight", tensors.weight, affine);
    bias = this->register_parameter("bias", tensors.bias, affine);
    running_mean = this->register_buffer("running_mean", tensors.running_mean);
    running_var = this->register_buffer("running_var", tensors.running_var);
    num_batches_tracked = this->register_buffer("num_batches_tracked",
                                                tensors.num_batches_tracked);
  }
};

/// See SyncBatchNormImplBase.
class SyncBatchNorm1dImpl
    : public SyncBatchNormImplBase<1, SyncBatchNorm1dImpl,
                                   torch::nn::BatchNorm1d> {
 public:
  using SyncBatchNormImplBase::SyncBatchNormImplBase;
};
TORCH_MODULE(SyncBatchNorm1d);

/// See SyncBatchNormImplBase.
class SyncBatchNorm2dImpl
    : public SyncBatchNormImplBase<2, SyncBatchNorm2dImpl,
                                   torch::nn::BatchNorm2d> {
 public:
  using SyncBatchNormImplBase::SyncBatchNormImplBase;
};
TORCH_MODULE(SyncBatchNorm2d);

/// See SyncBatchNormImplBase.
class SyncBatchNorm3dImpl
    : public SyncBatchNormImplBase<3, SyncBatchNorm3dImpl,
                                   torch::nn::BatchNorm3d> {
 public:
  using SyncBatchNormImplBase::SyncBatchNormImplBase;
};
TORCH_MODULE(SyncBatchNorm3d);

/// Replaces the BatchNorms in `module` by SyncBatchNorms with the same names;
/// existing SyncBatchNorms are kept. Returns the number of replacements.
/// Parameters and buffers remain the same tensors, so that an existing
/// optimizer stays valid.
///
/// Only members of a Sequential, at any depth, can be replaced: in other
/// modules, forward() calls a member of type BatchNorm. Declare those members
/// as SyncBatchNorm, constructed from options or from a BatchNorm.
///
/// Errors: c10::ValueError, naming the layer, for a BatchNorm that cannot be
/// replaced and a SyncBatchNorm of other ranks. Nothing is changed on error.
///
/// Example:
///     torch::nn::Sequential net(torch::nn::Linear(4, 8),
///                               torch::nn::BatchNorm1d(8));
///     training::convert_sync_batch_norm(*net);
std::size_t convert_sync_batch_norm(
    torch::nn::Module& module,
    std::shared_ptr<sync::Communicator> communicator = nullptr);

}  // namespace tally::training
