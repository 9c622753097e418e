#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <ostream>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/contrastive/clip_loss.h"

namespace tally::losses {

/// Options for DistillClipLoss.
struct DistillClipLossOptions {
  /// Options of the contrastive loss, and the ranks of both losses; local_loss
  /// is rejected. Default: those of ClipLoss.
  TORCH_ARG(ClipLossOptions, clip) = ClipLossOptions();

 public:
  void visit(OptionVisitor& v) { clip_.visit(v); }
};

struct DistillClipLosses {
  at::Tensor contrastive;
  at::Tensor distill;
};

/// ClipLoss, and the distance of a student's logits from a teacher's.
///
///   distill = mean over M pairs of the cross entropies of the student's
///             softmax from the teacher's, by rows and by columns, halved
///
/// forward() takes the inputs of ClipLoss for the student, and the same for the
/// teacher, whose features may have another size. The teacher gets no gradient;
/// in OpenCLIP this is left to the caller. Logits are computed for a few rows
/// at a time and recomputed in backward, in float32 or wider regardless of
/// autocast; features are gathered.
///
/// Both are one number, the same on every rank; distill is 0, with zero
/// gradients, if no rank has pairs. Gradients: averaged over the ranks, those
/// of parameters (encoders, scale) equal those of one process with all pairs,
/// for distill including second-order gradients. Every rank's backward() takes
/// part in one exchange for distill, and in that of ClipLoss.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed; kMismatch if ranks differ in sizes, dtypes or scales.
/// OpenCLIP's DistillClipLoss.
///
/// Example:
///     losses::DistillClipLoss distill;
///     auto both = distill->forward(x, y, weight, features, scores, value);
///     (both.contrastive + both.distill).backward();
class DistillClipLossImpl
    : public internal::LossModule<DistillClipLossImpl, DistillClipLossOptions> {
 public:
  static constexpr const char* kName = "DistillClipLoss";
  static constexpr LossSummary kSummary{
      "CLIP's loss, and a distillation loss from a teacher's logits.",
      "image_features, text_features, logit_scale, teacher_image_features, "
      "teacher_text_features, teacher_logit_scale",
      "contrastive, distill",
      "clip distillation",
      R"(L_{clip} - \frac{1}{2N} \sum_{i, j} q_{ij} \log p_{ij})",
      "OpenCLIP"};

  explicit DistillClipLossImpl(
      DistillClipLossOptions options = DistillClipLossOptions());

  DistillClipLosses forward(const at::Tensor& image_features,
                            const at::Tensor& text_features,
                            const at::Tensor& logit_scale,
                            const at::Tensor& teacher_image_features,
                            const at::Tensor& teacher_text_features,
                            const at::Tensor& teacher_logit_scale);
};

TORCH_MODULE(DistillClipLoss);

namespace functional {

/// See DistillClipLoss.
DistillClipLosses distill_clip_loss(const at::Tensor& image_features,
                                    const at::Tensor& text_features,
                                    const at::Tensor& logit_scale,
                                    const at::Tensor& teacher_image_features,
                                    const at::Tensor& teacher_text_features,
                                    const at::Tensor& teacher_logit_scale,
                                    const DistillClipLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<DistillClipLossImpl,
                                           DistillClipLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::DistillClipLossImpl>;
