#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <ostream>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/losses/contrastive/pairwise_logits.h"
#include "tally/metrics/common/option_words.h"

namespace tally::losses {

/// Options for ClipLoss.
struct ClipLossOptions : RankOptions<ClipLossOptions> {
  /// Each rank returns the part of the loss of its own rows, weighted such that
  /// the mean over the ranks is the loss.
  TORCH_ARG(bool, local_loss) = false;
  /// If true, gradients are exact when averaged over the ranks; if false, which
  /// requires local_loss(false), when those of the features are summed.
  TORCH_ARG(bool, gather_with_grad) = true;
  TORCH_ARG(PairwiseLogits, pairwise_logits) = PairwiseLogits::kTiled;
  /// kTiled keeps this rank's logits for the backward pass, which is then
  /// faster, if they take at most this many bytes: rows of this rank times rows
  /// of all ranks, float32 or float64.
  TORCH_ARG(std::int64_t, logits_budget_bytes) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("local_loss", local_loss_,
      "Each rank returns its rows' part; the mean over ranks is the loss.");
    v("gather_with_grad", gather_with_grad_,
      "Gradients are exact when averaged over ranks; false: when summed.");
    v("pairwise_logits", pairwise_logits_, OptionRole::kValue,
      tally::internal::words::kPairwiseLogits);
    v("logits_budget_bytes", logits_budget_bytes_, OptionRole::kValue,
      tally::internal::words::kLogitsBudget);
  }
};

/// Rows are this rank's, or all ranks' without local_loss; columns are all
/// ranks'.
struct ClipLogits {
  at::Tensor per_image;
  at::Tensor per_text;
};

/// The contrastive loss of CLIP, over the pairs of all ranks: the mean of the
/// cross entropies of the logits `s <image_i, text_j> + b`, by rows and by
/// columns, with the pair as the target.
///
/// forward() takes this rank's features, [n, D], of length 1 and any floating
/// dtype; n may differ between ranks and be 0. `logit_scale` is s itself, the
/// same on all ranks; a bias does not change the loss, and its gradient is 0.
/// Computes in float32 or wider, also under autocast, and returns a number of
/// that dtype: the same on every rank except with local_loss; 0, with zero
/// gradients, without any pairs. forward() and backward() are collective.
///
/// Gradients: averaged over the ranks, those of parameters (encoders, scale)
/// equal those of one process with all pairs; a feature's gradient is W times
/// that of one process. With gather_with_grad(false) it equals that of one
/// process, so that encoders' gradients must be summed, while each rank has the
/// full gradient of the scale, as in OpenCLIP; kGathered then computes all
/// ranks' rows of logits, and does not support second-order gradients except in
/// one process. local_loss without gather_with_grad is rejected: a row then
/// gets no gradient as another row's column, which no factor can correct.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed; kMismatch if ranks differ in D, dtype, scale or
/// options. Radford et al., arXiv 2103.00020.
///
/// Example:
///     losses::ClipLoss clip;
///     at::Tensor scale = torch::tensor(14.3f).requires_grad_();
///     clip->forward(x, y, scale).backward();
class ClipLossImpl
    : public internal::LossModule<ClipLossImpl, ClipLossOptions> {
 public:
  static constexpr const char* kName = "ClipLoss";
  static constexpr LossSummary kSummary{
      "The contrastive loss of CLIP over the pairs of all ranks.",
      "image_features, text_features, logit_scale, logit_bias?",
      "",
      "clip, infonce, contrastive loss",
      R"(-\frac{1}{2N} \sum_i \log \frac{e^{s\, x_i \cdot y_i}}{\sum_j e^{s\, x_i \cdot y_j}} + \log \frac{e^{s\, x_i \cdot y_i}}{\sum_j e^{s\, x_j \cdot y_i}})",
      "Radford et al. 2021"};

  explicit ClipLossImpl(ClipLossOptions options = ClipLossOptions());

  at::Tensor forward(const at::Tensor& image_features,
                     const at::Tensor& text_features,
                     const at::Tensor& logit_scale,
                     const at::Tensor& logit_bias = {});
  /// The logits, in float32 or wider, with gradients according to the options.
  /// Collective, as is the backward pass with gather_with_grad.
  ClipLogits logits(const at::Tensor& image_features,
                    const at::Tensor& text_features,
                    const at::Tensor& logit_scale,
                    const at::Tensor& logit_bias = {}) const;
};

TORCH_MODULE(ClipLoss);

namespace functional {

/// See ClipLoss.
at::Tensor clip_loss(const at::Tensor& image_features,
                     const at::Tensor& text_features,
                     const at::Tensor& logit_scale,
                     const at::Tensor& logit_bias = {},
                     const ClipLossOptions& options = {});

/// See ClipLoss::logits.
ClipLogits clip_logits(const at::Tensor& image_features,
                       const at::Tensor& text_features,
                       const at::Tensor& logit_scale,
                       const at::Tensor& logit_bias = {},
                       const ClipLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<ClipLossImpl, ClipLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::ClipLossImpl>;
