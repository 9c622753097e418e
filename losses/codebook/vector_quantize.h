#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "tally/losses/codebook/code_gradient.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for VectorQuantize.
struct VectorQuantizeOptions {
  VectorQuantizeOptions(std::int64_t dim, std::int64_t codebook_size)
      : dim_(dim), codebook_size_(codebook_size) {}

  /// Size of the last dimension of the input (of dimension 1 where channels
  /// come first).
  TORCH_ARG(std::int64_t, dim);
  /// Number of codes.
  TORCH_ARG(std::int64_t, codebook_size);
  /// Size of a code; linear layers before and after if it is not `dim`.
  /// Default: 0, which is `dim`.
  TORCH_ARG(std::int64_t, codebook_dim) = 0;
  /// Whether channels are dimension 1. Default: for inputs of 4 dimensions and
  /// more, images and videos.
  TORCH_ARG(std::optional<bool>, channel_first) = std::nullopt;
  /// How much of the codes' sums and counts a step keeps. Default: 0.8.
  TORCH_ARG(double, decay) = 0.8;
  /// Added to each count, so that codes without tokens stay finite. Default:
  /// 1e-5.
  TORCH_ARG(double, eps) = 1e-5;
  /// The first step takes the codes from its tokens, by k-means. Default:
  /// false, which is random ones.
  TORCH_ARG(bool, kmeans_init) = false;
  /// Default: 10.
  TORCH_ARG(std::int64_t, kmeans_iters) = 10;
  /// Tokens and codes of length 1, compared by their product. Default: false.
  TORCH_ARG(bool, use_cosine_sim) = false;
  /// Codes whose running count falls below this are replaced by tokens of the
  /// step, drawn at random. Default: 0, which is never.
  TORCH_ARG(double, threshold_ema_dead_code) = 0;
  /// Leave the codes as they are. Default: false.
  TORCH_ARG(bool, freeze_codebook) = false;
  /// Weight of the commitment loss. Default: 1.
  TORCH_ARG(double, commitment_weight) = 1;
  /// What gradient the input gets from the codes. Default: kRotation.
  TORCH_ARG(CodeGradient, code_gradient) = CodeGradient::kRotation;
  /// Of the tokens drawn for k-means and for dead codes; the same on every
  /// rank. Default: 0.
  TORCH_ARG(std::uint64_t, seed) = 0;
  /// The ranks. Default: null, which is sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
};

/// What VectorQuantize gives.
struct VectorQuantizeOutput {
  at::Tensor quantized;   ///< of the input's size and dtype; 0 where masked
  at::Tensor indices;     ///< int64, one for each token; -1 where masked
  at::Tensor loss;        ///< the commitment, weighted; 0 in eval() mode
  at::Tensor commitment;  ///< mean square over tokens and dimensions
};

namespace functional {

/// The codes nearest to x [..., d], and the commitment loss over the tokens of
/// all ranks; `codebook` is [codes, d]. Of the options, those of training the
/// codes play no part. `mask` is as in VectorQuantize.
VectorQuantizeOutput vector_quantize(const at::Tensor& x,
                                     const at::Tensor& codebook,
                                     const VectorQuantizeOptions& options,
                                     const at::Tensor& mask = {},
                                     bool training = true);

}  // namespace functional

/// Vector quantization (arXiv 1711.00937) with a codebook that follows the
/// tokens by exponential moving averages.
///
///   counts_j = decay * counts_j + (1 - decay) * tokens of code j
///   sums_j = decay * sums_j + (1 - decay) * their sum
///   code_j = sums_j / (counts_j, smoothed by eps)
///
/// forward() takes x [batch, ..., dim] of any floating dtype and computes in
/// float32 or wider, also under autocast. A token's code depends on the token,
/// as it comes out of the projection in, and on the codes alone: not on the
/// batch, threads, the processor or the device; of equal codes it is the first
/// (nearest.h).
///
/// In training mode it gives the codes of before the step, then moves them;
/// tokens of all ranks count, and the buffers are afterwards those of one
/// process that has all tokens in rank order, up to rounding of the tokens'
/// sums, which are taken in float64, and equal on every rank. So are k-means
/// and dead codes: ranks draw the same tokens of the whole batch. mask (bool)
/// is [batch] or more of x's dimensions except the channels'; tokens without
/// it do not count. A rank without tokens takes part like others; without any
/// on all ranks the loss is 0, and the codes stay as they are.
///
/// Gradient: every rank gets the same loss; averaged over ranks, gradients are
/// those of one process with all tokens, and so are gradients of gradients.
/// Training takes two collectives (the second of codes * (d + 1) numbers),
/// k-means one more and one for each iteration, dead codes one; backward one
/// under create_graph and after it, else none, and eval() none.
///
/// Ranks begin with equal parameters and buffers (sync::broadcast_parameters):
/// first codes that differ, or numbers of steps, are a SyncError kMismatch.
/// Throws c10::ValueError for input that does not fit, other ranks SyncError
/// kPeerFailed; in eval() mode also before k-means.
///
/// Example:
///     losses::VectorQuantize vq(
///         losses::VectorQuantizeOptions(32, 512).kmeans_init(true));
///     auto output = vq->forward(at::rand({8, 100, 32}));
///     (output.quantized.sum() + output.loss).backward();
class VectorQuantizeImpl : public torch::nn::Cloneable<VectorQuantizeImpl> {
 public:
  explicit VectorQuantizeImpl(VectorQuantizeOptions options);

  VectorQuantizeOutput forward(const at::Tensor& x,
                               const at::Tensor& mask = {});
  /// The vectors, through the projection out, for indices as forward() gives;
  /// not for -1.
  at::Tensor indices_to_codes(const at::Tensor& indices);

  /// With all defaults filled in.
  const VectorQuantizeOptions& options() const { return options_; }
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  torch::nn::Linear project_in{nullptr}, project_out{nullptr};
  // Buffers.
  at::Tensor codebook;     ///< [codes, d]
  at::Tensor code_sums;    ///< [codes, d]
  at::Tensor code_counts;  ///< [codes]
  at::Tensor initialised;  ///< whether there are codes
  at::Tensor steps;        ///< training steps so far

 private:
  struct Step;
  /// What must be the same on every rank.
  std::string progress() const;
  void begin(const Step& step);
  void learn(const Step& step, const at::Tensor& sums);
  void replace_dead_codes(const Step& step);
  void set_codebook();

  VectorQuantizeOptions options_;
};

TORCH_MODULE(VectorQuantize);

}  // namespace tally::losses
