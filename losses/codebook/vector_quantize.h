#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "tally/losses/codebook/code_gradient.h"
#include "tally/losses/common/loss_module.h"
#include "tally/metrics/common/option_words.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for VectorQuantize.
struct VectorQuantizeOptions {
  VectorQuantizeOptions(std::int64_t dim, std::int64_t codebook_size)
      : dim_(dim), codebook_size_(codebook_size) {}
  explicit VectorQuantizeOptions(Unset) : VectorQuantizeOptions(0, 0) {}

  /// Size of the last dimension of the input (of dimension 1 if channels come
  /// first).
  TORCH_ARG(std::int64_t, dim);
  TORCH_ARG(std::int64_t, codebook_size);
  /// Size of a code; if it is not `dim`, linear layers are applied before and
  /// after. Default: 0, which means `dim`.
  TORCH_ARG(std::int64_t, codebook_dim) = 0;
  /// Whether channels are dimension 1. Default: for inputs with 4 or more
  /// dimensions (images and videos).
  TORCH_ARG(std::optional<bool>, channel_first) = std::nullopt;
  /// Decay of the moving averages of the codes' sums and counts.
  TORCH_ARG(double, decay) = 0.8;
  /// Added to each count, so that codes without tokens stay finite.
  TORCH_ARG(double, eps) = 1e-5;
  /// Initialize the codes in the first step from its tokens, by k-means.
  /// Default: false, which means random codes.
  TORCH_ARG(bool, kmeans_init) = false;
  TORCH_ARG(std::int64_t, kmeans_iters) = 10;
  /// Normalize tokens and codes to length 1, and compare by their product.
  TORCH_ARG(bool, use_cosine_sim) = false;
  /// Codes whose running count falls below this are replaced by randomly
  /// selected tokens of the step. Default: 0, which means never.
  TORCH_ARG(double, threshold_ema_dead_code) = 0;
  /// Do not update the codes.
  TORCH_ARG(bool, freeze_codebook) = false;
  TORCH_ARG(double, commitment_weight) = 1;
  /// The gradient that the input gets from the codes.
  TORCH_ARG(CodeGradient, code_gradient) = CodeGradient::kRotation;
  /// Seed of the selection of tokens for k-means and dead codes; the same on
  /// every rank.
  TORCH_ARG(std::int64_t, seed) = 0;
  /// The ranks. Default: null, which is sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;

 public:
  void visit(OptionVisitor& v) {
    v("dim", dim_, OptionRole::kSize, "Size of the features.");
    v("codebook_size", codebook_size_, OptionRole::kSize, "Number of codes.");
    v("codebook_dim", codebook_dim_, OptionRole::kSize,
      "Size of a code; 0: dim. Else linear layers come before and after.");
    v("channel_first", channel_first_, tally::internal::words::kChannelFirst);
    v("decay", decay_, "Decay of the moving averages of codes.");
    v("eps", eps_, "Added to each code's count.");
    v("kmeans_init", kmeans_init_,
      "Codes start from the first step's tokens, by k-means.");
    v("kmeans_iters", kmeans_iters_, "Iterations of k-means.");
    v("use_cosine_sim", use_cosine_sim_,
      "Tokens and codes are compared by their cosine.");
    v("threshold_ema_dead_code", threshold_ema_dead_code_,
      "Codes with a smaller running count are replaced; 0: never.");
    v("freeze_codebook", freeze_codebook_, "Whether codes stay as they are.");
    v("commitment_weight", commitment_weight_,
      "Weight of the commitment loss.");
    v("code_gradient", code_gradient_,
      "Gradient that tokens receive from codes.");
    auto seed = static_cast<std::int64_t>(seed_);
    v("seed", seed, "Seed of the random numbers; the same on every rank.");
    seed_ = static_cast<std::uint64_t>(seed);
  }
};

/// The output of VectorQuantize.
struct VectorQuantizeOutput {
  at::Tensor quantized;   ///< same size and dtype as the input; 0 if masked
  at::Tensor indices;     ///< int64, one per token; -1 if masked
  at::Tensor loss;        ///< the weighted commitment; 0 in eval() mode
  at::Tensor commitment;  ///< mean square over tokens and dimensions
};

namespace functional {

/// The codes nearest to x [..., d], and the commitment loss over the tokens of
/// all ranks; `codebook` is [codes, d]. Options for training the codes are
/// ignored. For `mask` see VectorQuantize.
VectorQuantizeOutput vector_quantize(const at::Tensor& x,
                                     const at::Tensor& codebook,
                                     const VectorQuantizeOptions& options,
                                     const at::Tensor& mask = {},
                                     bool training = true);

}  // namespace functional

/// Vector quantization (arXiv 1711.00937) with a codebook updated by
/// exponential moving averages of the tokens.
///
///   counts_j = decay * counts_j + (1 - decay) * tokens of code j
///   sums_j = decay * sums_j + (1 - decay) * their sum
///   code_j = sums_j / (counts_j, smoothed by eps)
///
/// forward() takes x [batch, ..., dim] of any floating dtype and computes in
/// float32 or wider, also under autocast. A token's code depends only on the
/// token, after the input projection, and on the codes: not on the batch,
/// threads, processor or device; ties go to the first code (nearest.h).
///
/// In training mode it returns the codes as of before the step, then updates
/// them with the tokens of all ranks; the buffers then equal those of one
/// process with all tokens in rank order, up to rounding of the tokens' sums,
/// which are computed in float64, and are equal on every rank. The same holds
/// for k-means and dead codes: ranks select the same tokens of the whole batch.
/// mask (bool) is [batch] or more of x's dimensions except that of the
/// channels; masked tokens are ignored. A rank without tokens takes part like
/// the others; without any on all ranks the loss is 0, and the codes do not
/// change.
///
/// Gradient: every rank gets the same loss; averaged over ranks, gradients
/// equal those of one process with all tokens, including second-order
/// gradients. Training takes two collectives (the second with codes * (d + 1)
/// numbers), k-means one more and one per iteration, dead codes one; backward
/// one under create_graph and in later passes, otherwise none, and eval() none.
///
/// Ranks must start with equal parameters and buffers
/// (sync::broadcast_parameters): different initial codes, or numbers of steps,
/// are a SyncError kMismatch. Throws c10::ValueError for invalid input, and in
/// eval() mode before k-means, while the other ranks throw SyncError
/// kPeerFailed.
///
/// Example:
///     losses::VectorQuantize vq(
///         losses::VectorQuantizeOptions(32, 512).kmeans_init(true));
///     auto output = vq->forward(at::rand({8, 100, 32}));
///     (output.quantized.sum() + output.loss).backward();
class VectorQuantizeImpl
    : public internal::LossModule<VectorQuantizeImpl, VectorQuantizeOptions> {
 public:
  static constexpr const char* kName = "VectorQuantize";
  static constexpr LossSummary kSummary{
      "Vector quantization with a codebook of moving averages.",
      "x, mask?",
      "quantized, indices, loss, commitment",
      "vq, vq-vae, codebook",
      R"(w \| x - \mathrm{sg}(c_{k(x)}) \|^2)",
      "van den Oord, Vinyals and Kavukcuoglu 2017",
      "dim=4, codebook_size=16"};

  explicit VectorQuantizeImpl(VectorQuantizeOptions options);

  VectorQuantizeOutput forward(const at::Tensor& x,
                               const at::Tensor& mask = {});
  /// The output vectors, after the output projection, for indices from
  /// forward(); not for -1.
  at::Tensor indices_to_codes(const at::Tensor& indices);

  void reset() override;

  torch::nn::Linear project_in{nullptr}, project_out{nullptr};
  // Buffers.
  at::Tensor codebook;     ///< [codes, d]
  at::Tensor code_sums;    ///< [codes, d]
  at::Tensor code_counts;  ///< [codes]
  at::Tensor initialised;  ///< whether codes exist
  at::Tensor steps;        ///< training steps so far

 private:
  struct Step;
  /// The properties that must be the same on every rank.
  std::string progress() const;
  void begin(const Step& step);
  void learn(const Step& step, const at::Tensor& sums);
  void replace_dead_codes(const Step& step);
  void set_codebook();
};

TORCH_MODULE(VectorQuantize);
extern template class internal::LossModule<VectorQuantizeImpl,
                                           VectorQuantizeOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::VectorQuantizeImpl>;
