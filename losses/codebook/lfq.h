#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>

#include "tally/losses/codebook/code_gradient.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for LFQ. One of `dim` and `codebook_size` is required.
struct LFQOptions {
  /// Size of the last dimension of the input (of dimension 1 where channels
  /// come first). Default: 0, which is num_codebooks * log2(codebook_size).
  TORCH_ARG(std::int64_t, dim) = 0;
  /// Codes of each codebook, a power of 2. Default: 0, which is 2^dim.
  TORCH_ARG(std::int64_t, codebook_size) = 0;
  /// Number of codebooks, which divide the bits among them. Default: 1.
  TORCH_ARG(std::int64_t, num_codebooks) = 1;
  /// Whether indices have a last dimension for codebooks. Default: if there is
  /// more than one.
  TORCH_ARG(std::optional<bool>, keep_num_codebooks_dim) = std::nullopt;
  /// Linear layers before and after. Default: if `dim` is not the number of
  /// bits.
  TORCH_ARG(std::optional<bool>, has_projections) = std::nullopt;
  /// Whether those layers have a bias. Default: true.
  TORCH_ARG(bool, projection_has_bias) = true;
  /// Whether channels are dimension 1. Default: for inputs of 4 dimensions and
  /// more, images and videos.
  TORCH_ARG(std::optional<bool>, channel_first) = std::nullopt;
  /// What codes are made of: plus and minus this. Default: 1.
  TORCH_ARG(double, codebook_scale) = 1;
  /// Squeezes latents x to v * tanh(x / v); at least codebook_scale. Default:
  /// none.
  TORCH_ARG(std::optional<double>, soft_clamp_input_value) = std::nullopt;
  /// Latents and codes on a sphere of radius codebook_scale (arXiv 2406.07548).
  /// Default: false.
  TORCH_ARG(bool, spherical) = false;
  /// A random rotation of the latents before, and back after, in the buffer
  /// `rotation`. Default: false.
  TORCH_ARG(bool, orthogonal_rotation) = false;
  /// What gradient latents get from the codes. Default: kStraightThrough.
  TORCH_ARG(CodeGradient, code_gradient) = CodeGradient::kStraightThrough;
  /// How sharply a latent prefers near codes in the entropy loss. Default: 100.
  TORCH_ARG(double, inverse_temperature) = 100;
  /// Weight of the entropy loss. Default: 0.1.
  TORCH_ARG(double, entropy_loss_weight) = 0.1;
  /// Weight, in the entropy loss, of the entropy of the codes' use. Default: 1.
  TORCH_ARG(double, diversity_gamma) = 1;
  /// The fraction of the tokens (at least one), drawn at random by LibTorch's
  /// generator, whose own entropies count. Default: 1.
  TORCH_ARG(double, frac_per_sample_entropy) = 1;
  /// The entropy loss as softplus(loss + entropy_loss_offset). Default: false.
  TORCH_ARG(bool, softplus_entropy_loss) = false;
  /// Default: 5.
  TORCH_ARG(double, entropy_loss_offset) = 5;
  /// Weight of the commitment loss. Default: 0.
  TORCH_ARG(double, commitment_loss_weight) = 0;
  /// The ranks. Default: null, which is sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
};

/// What LFQ gives.
struct LFQOutput {
  at::Tensor quantized;  ///< of the input's size and dtype
  at::Tensor indices;    ///< int64, one for each token and codebook
  at::Tensor aux_loss;   ///< entropy and commitment loss, weighted; else 0
  // What aux_loss is made of, unweighted.
  at::Tensor per_sample_entropy;  ///< mean over tokens and codebooks
  at::Tensor batch_entropy;       ///< of the codes' mean probability
  at::Tensor commitment;
};

namespace functional {

/// LFQ of latents x [..., num_codebooks * bits], with the options' projections,
/// rotation and channel_first left out. `mask` is as in LFQ.
LFQOutput lfq(const at::Tensor& x, const LFQOptions& options,
              const at::Tensor& mask = {}, bool training = true);

}  // namespace functional

/// Lookup-free quantization (arXiv 2310.05737): each dimension of a latent
/// becomes one bit of its code, by its sign.
///
///   p_ij = softmax over codes j of 2 * inverse_temperature * <x_i, c_j>
///   entropy loss = mean_i H(p_i) - diversity_gamma * H(mean_i p_ij)
///   aux_loss = entropy_loss_weight * entropy loss
///            + commitment_loss_weight * mean |x_i - code_i|^2
///
/// forward() takes x [batch, ..., dim] of any floating dtype and computes in
/// float32 or wider, also under autocast. A token's bits depend on what comes
/// out of the projection in (and of soft_clamp_input_value) alone, and not on
/// the batch, threads, the processor or the device. All means are over the
/// tokens of all ranks; the entropies are exact up to rounding, at a cost of
/// 2^bits numbers and a matrix product (`code_probability.h`), not of tokens
/// times 2^bits.
///
/// mask (bool) says which tokens count in the loss, one value per sample
/// [batch] or per token [batch, n]: any of x's leading dimensions except the
/// channels'. Without any token on all ranks the losses are 0.
///
/// Gradient: every rank gets the same aux_loss; averaged over ranks, gradients
/// are those of one process with all tokens, and so are gradients of gradients.
/// Training takes one collective (2^bits numbers for each codebook) in forward,
/// and one in backward under create_graph and after it; in eval() mode there is
/// none, and the losses are 0.
///
/// Ranks begin with equal parameters and buffers (sync::broadcast_parameters);
/// rotations that differ are a SyncError kMismatch. Throws c10::ValueError for
/// input that does not fit; other ranks get SyncError kPeerFailed.
///
/// Example:
///     losses::LFQ lfq(losses::LFQOptions().dim(32).codebook_size(1024));
///     auto output = lfq->forward(at::rand({2, 7, 32}));
///     (output.quantized.sum() + output.aux_loss).backward();
class LFQImpl : public torch::nn::Cloneable<LFQImpl> {
 public:
  explicit LFQImpl(LFQOptions options);

  LFQOutput forward(const at::Tensor& x, const at::Tensor& mask = {},
                    std::optional<double> inverse_temperature = std::nullopt);
  /// The vectors, through the projection out, for indices as forward() gives.
  at::Tensor indices_to_codes(const at::Tensor& indices,
                              bool project_out = true);

  /// With all defaults filled in.
  const LFQOptions& options() const { return options_; }
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  torch::nn::Linear project_in{nullptr}, project_out{nullptr};
  at::Tensor rotation;  ///< [bits, bits], if there is one

 private:
  LFQOptions options_;
};

TORCH_MODULE(LFQ);

}  // namespace tally::losses
