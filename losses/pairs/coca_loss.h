#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <ostream>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/contrastive/clip_loss.h"

namespace tally::losses {

/// Options for CoCaLoss.
struct CoCaLossOptions {
  CoCaLossOptions(double caption_loss_weight, double clip_loss_weight)
      : caption_loss_weight_(caption_loss_weight),
        clip_loss_weight_(clip_loss_weight) {}

  explicit CoCaLossOptions(Unset) : CoCaLossOptions(1, 1) {}

  TORCH_ARG(double, caption_loss_weight);
  /// 0 disables the contrastive loss.
  TORCH_ARG(double, clip_loss_weight);
  TORCH_ARG(std::int64_t, pad_id) = 0;
  /// Options of the contrastive loss, and the ranks of both losses; local_loss
  /// is rejected. Default: those of ClipLoss.
  TORCH_ARG(ClipLossOptions, clip) = ClipLossOptions();

 public:
  void visit(OptionVisitor& v) {
    v("caption_loss_weight", caption_loss_weight_, "Weight of the captions.");
    v("clip_loss_weight", clip_loss_weight_,
      "Weight of the contrastive loss; 0: none.");
    v("pad_id", pad_id_, "Label of padding.");
    clip_.visit(v);
  }
};

/// Both losses, weighted.
struct CoCaLosses {
  at::Tensor contrastive;
  at::Tensor caption;
};

/// The losses of CoCa, a contrastively trained image captioner.
///
///   contrastive = clip_loss_weight * ClipLoss
///   caption = caption_loss_weight * mean over tokens of the cross entropy
///
/// forward() takes the inputs of ClipLoss, logits of the captions' next tokens
/// [n, length, vocabulary] of any floating dtype, and labels [n, length]
/// (int64); the cross entropy is computed in float32 or wider regardless of
/// autocast. The mean is over the tokens of all ranks that are not pad_id, with
/// equal weights; OpenCLIP averages per rank, so that tokens on a rank with
/// much padding get more weight. Without any token on any rank the caption loss
/// is 0, with zero gradients.
///
/// Both are one number, the same on every rank. Gradients: averaged over the
/// ranks, those of parameters equal those of one process with all rows. The
/// caption loss takes one collective, in forward; its second-order gradients
/// are exact, and take one. For the contrastive loss see ClipLoss.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed. Yu et al., arXiv 2205.01917; OpenCLIP's CoCaLoss.
///
/// Example:
///     losses::CoCaLoss coca(losses::CoCaLossOptions(2, 1).pad_id(9));
///     auto both = coca->forward(x, y, at::rand({5, 7, 10}),
///                               at::ones({5, 7}, at::kLong), weight);
///     (both.contrastive + both.caption).backward();
class CoCaLossImpl
    : public internal::LossModule<CoCaLossImpl, CoCaLossOptions> {
 public:
  static constexpr const char* kName = "CoCaLoss";
  static constexpr LossSummary kSummary{
      "The losses of CoCa: contrastive, and of captions.",
      "image_features, text_features, logits, labels, logit_scale",
      "contrastive, caption",
      "coca",
      R"(\lambda_1 L_{clip} + \lambda_2 L_{caption})",
      "Yu et al. 2022",
      "caption_loss_weight=2, clip_loss_weight=1"};

  explicit CoCaLossImpl(CoCaLossOptions options);

  CoCaLosses forward(const at::Tensor& image_features,
                     const at::Tensor& text_features, const at::Tensor& logits,
                     const at::Tensor& labels, const at::Tensor& logit_scale);
};

TORCH_MODULE(CoCaLoss);

namespace functional {

/// See CoCaLoss.
CoCaLosses coca_loss(const at::Tensor& image_features,
                     const at::Tensor& text_features, const at::Tensor& logits,
                     const at::Tensor& labels, const at::Tensor& logit_scale,
                     const CoCaLossOptions& options);

}  // namespace functional
extern template class internal::LossModule<CoCaLossImpl, CoCaLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::CoCaLossImpl>;
