#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>

#include "tally/losses/codebook/code_gradient.h"
#include "tally/losses/common/loss_module.h"
#include "tally/metrics/common/option_words.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for LFQ. One of `dim` and `codebook_size` is required.
struct LFQOptions {
  /// Size of the last dimension of the input (of dimension 1 if channels come
  /// first). Default: 0, which means num_codebooks * log2(codebook_size).
  TORCH_ARG(std::int64_t, dim) = 0;
  /// Number of codes per codebook, a power of 2. Default: 0, which means 2^dim.
  TORCH_ARG(std::int64_t, codebook_size) = 0;
  TORCH_ARG(std::int64_t, num_codebooks) = 1;
  /// Whether indices have a last dimension for codebooks. Default: if there are
  /// several.
  TORCH_ARG(std::optional<bool>, keep_num_codebooks_dim) = std::nullopt;
  /// Whether to apply linear layers before and after. Default: if `dim` is not
  /// the number of bits.
  TORCH_ARG(std::optional<bool>, has_projections) = std::nullopt;
  TORCH_ARG(bool, projection_has_bias) = true;
  /// Whether channels are dimension 1. Default: for inputs with 4 or more
  /// dimensions (images and videos).
  TORCH_ARG(std::optional<bool>, channel_first) = std::nullopt;
  /// Codes consist of plus and minus this value.
  TORCH_ARG(double, codebook_scale) = 1;
  /// Soft-clamps latents x to v * tanh(x / v); at least codebook_scale.
  TORCH_ARG(std::optional<double>, soft_clamp_input_value) = std::nullopt;
  /// Project latents and codes onto a sphere of radius codebook_scale (arXiv
  /// 2406.07548).
  TORCH_ARG(bool, spherical) = false;
  /// Rotate latents by a random rotation before quantization, and back after;
  /// stored in the buffer `rotation`.
  TORCH_ARG(bool, orthogonal_rotation) = false;
  /// The gradient that latents get from the codes.
  TORCH_ARG(CodeGradient, code_gradient) = CodeGradient::kStraightThrough;
  /// Inverse temperature of the softmax over codes in the entropy loss.
  TORCH_ARG(double, inverse_temperature) = 100;
  TORCH_ARG(double, entropy_loss_weight) = 0.1;
  TORCH_ARG(double, diversity_gamma) = 1;
  /// Fraction of tokens (at least one), sampled with LibTorch's generator, used
  /// for the per-token entropies.
  TORCH_ARG(double, frac_per_sample_entropy) = 1;
  /// Replace the entropy loss by softplus(loss + entropy_loss_offset).
  TORCH_ARG(bool, softplus_entropy_loss) = false;
  TORCH_ARG(double, entropy_loss_offset) = 5;
  TORCH_ARG(double, commitment_loss_weight) = 0;
  /// The ranks. Default: null, which is sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;

 public:
  void visit(OptionVisitor& v) {
    v("dim", dim_, OptionRole::kSize,
      "Size of the features; 0: num_codebooks log2(codebook_size).");
    v("codebook_size", codebook_size_, OptionRole::kSize,
      "Codes of each codebook, a power of 2; 0: 2^dim.");
    v("num_codebooks", num_codebooks_, OptionRole::kSize,
      "Number of codebooks, which share the bits.");
    v("keep_num_codebooks_dim", keep_num_codebooks_dim_,
      "Indices have a dimension for codebooks; none: if there are several.");
    v("has_projections", has_projections_,
      "Linear layers before and after; none: if dim differs from the bits.");
    v("projection_has_bias", projection_has_bias_,
      "Whether those layers have a bias.");
    v("channel_first", channel_first_, tally::internal::words::kChannelFirst);
    v("codebook_scale", codebook_scale_,
      "Codes consist of plus and minus this.");
    v("soft_clamp_input_value", soft_clamp_input_value_,
      "Latents x become v tanh(x / v); none: unchanged.");
    v("spherical", spherical_,
      "Whether latents and codes are projected onto a sphere.");
    v("orthogonal_rotation", orthogonal_rotation_,
      "Whether latents are rotated at random, and back afterward.");
    v("code_gradient", code_gradient_,
      "Gradient that latents receive from codes.");
    v("inverse_temperature", inverse_temperature_,
      "Inverse temperature of the softmax over codes in the entropy loss.");
    v("entropy_loss_weight", entropy_loss_weight_,
      "Weight of the entropy loss.");
    v("diversity_gamma", diversity_gamma_,
      "Weight of the entropy of code usage in the entropy loss.");
    v("frac_per_sample_entropy", frac_per_sample_entropy_,
      "Fraction of tokens used for the per-sample entropy.");
    v("softplus_entropy_loss", softplus_entropy_loss_,
      "Softplus of the entropy loss and the offset.");
    v("entropy_loss_offset", entropy_loss_offset_,
      "Offset added before the softplus.");
    v("commitment_loss_weight", commitment_loss_weight_,
      "Weight of the commitment loss.");
  }
};

/// The output of LFQ.
struct LFQOutput {
  at::Tensor quantized;  ///< same size and dtype as the input
  at::Tensor indices;    ///< int64, one per token and codebook
  at::Tensor aux_loss;   ///< weighted entropy and commitment loss; 0 in eval()
  // The unweighted components of aux_loss.
  at::Tensor per_sample_entropy;  ///< mean over tokens and codebooks
  at::Tensor batch_entropy;       ///< of the codes' mean probability
  at::Tensor commitment;
};

namespace functional {

/// LFQ of latents x [..., num_codebooks * bits], without the options'
/// projections, rotation and channel_first. For `mask` see LFQ.
LFQOutput lfq(const at::Tensor& x, const LFQOptions& options,
              const at::Tensor& mask = {}, bool training = true);

}  // namespace functional

/// Lookup-free quantization (arXiv 2310.05737): the sign of each dimension of a
/// latent is one bit of its code.
///
///   p_ij = softmax over codes j of 2 * inverse_temperature * <x_i, c_j>
///   entropy loss = mean_i H(p_i) - diversity_gamma * H(mean_i p_ij)
///   aux_loss = entropy_loss_weight * entropy loss
///            + commitment_loss_weight * mean |x_i - code_i|^2
///
/// forward() takes x [batch, ..., dim] of any floating dtype and computes in
/// float32 or wider, also under autocast. A token's bits depend only on the
/// output of the input projection (and of soft_clamp_input_value), not on the
/// batch, threads, processor or device. All means are over the tokens of all
/// ranks; the entropies are exact up to rounding, at a cost of 2^bits numbers
/// and a matrix product (`code_probability.h`), instead of tokens times 2^bits.
///
/// mask (bool) selects the tokens used in the loss, with one value per sample
/// [batch] or per token [batch, n]: any leading dimensions of x except that of
/// the channels. Without any token on all ranks the losses are 0.
///
/// Gradient: every rank gets the same aux_loss; averaged over ranks, gradients
/// equal those of one process with all tokens, including second-order
/// gradients. Training takes one collective (2^bits numbers per codebook) in
/// forward, and one in backward under create_graph and in later passes; eval()
/// mode takes none, and the losses are 0.
///
/// Ranks must start with equal parameters and buffers
/// (sync::broadcast_parameters); different rotations are a SyncError kMismatch.
/// Throws c10::ValueError for invalid input, while the other ranks throw
/// SyncError kPeerFailed.
///
/// Example:
///     losses::LFQ lfq(losses::LFQOptions().dim(32).codebook_size(1024));
///     auto output = lfq->forward(at::rand({2, 7, 32}));
///     (output.quantized.sum() + output.aux_loss).backward();
class LFQImpl : public internal::LossModule<LFQImpl, LFQOptions> {
 public:
  static constexpr const char* kName = "LFQ";
  static constexpr LossSummary kSummary{
      "Lookup-free quantization with its entropy loss.",
      "x, mask?, inverse_temperature?",
      "quantized, indices, aux_loss, per_sample_entropy, batch_entropy, "
      "commitment",
      "lookup-free quantization, magvit-v2",
      R"(w (E[H(q(x))] - \gamma H(E[q(x)])))",
      "Yu et al. 2023"};

  explicit LFQImpl(LFQOptions options);

  LFQOutput forward(const at::Tensor& x, const at::Tensor& mask = {},
                    std::optional<double> inverse_temperature = std::nullopt);
  /// The output vectors, after the output projection, for indices from
  /// forward().
  at::Tensor indices_to_codes(const at::Tensor& indices,
                              bool project_out = true);

  void reset() override;

  torch::nn::Linear project_in{nullptr}, project_out{nullptr};
  at::Tensor rotation;  ///< [bits, bits], if there is one
};

TORCH_MODULE(LFQ);
extern template class internal::LossModule<LFQImpl, LFQOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::LFQImpl>;
