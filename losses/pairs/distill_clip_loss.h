#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <ostream>

#include "tally/losses/contrastive/clip_loss.h"

namespace tally::losses {

/// Options for DistillClipLoss.
struct DistillClipLossOptions {
  /// Of the contrastive loss, and which ranks both go over; local_loss is
  /// refused. Default: those of ClipLoss.
  TORCH_ARG(ClipLossOptions, clip) = ClipLossOptions();
};

struct DistillClipLosses {
  at::Tensor contrastive;
  at::Tensor distill;
};

/// ClipLoss, and how far a student's logits are from a teacher's.
///
///   distill = mean over M pairs of the cross entropies of the student's
///             softmax from the teacher's, by rows and by columns, halved
///
/// forward() takes what ClipLoss does, of the student, and the same of the
/// teacher, whose features may have another size. Nothing of the teacher gets a
/// gradient; in OpenCLIP that is left to the caller. Logits exist for a few
/// rows at a time and are computed again in backward, in float32 or wider
/// whatever autocast says; features are gathered.
///
/// Both are one number, the same on every rank; distill is 0, with zero
/// gradients, if no rank has pairs. Gradients: averaged over the ranks, those
/// of parameters (encoders, scale) are of one process with all pairs, and of
/// distill so are gradients' gradients. Every rank's backward() takes part in
/// one exchange for distill, and in ClipLoss's.
///
/// Throws c10::ValueError for arguments, and on the other ranks SyncError
/// kPeerFailed; kMismatch if ranks differ in sizes, dtypes or scales.
/// OpenCLIP's DistillClipLoss.
///
/// Example:
///     losses::DistillClipLoss distill;
///     auto both = distill->forward(x, y, weight, features, scores, value);
///     (both.contrastive + both.distill).backward();
class DistillClipLossImpl : public torch::nn::Cloneable<DistillClipLossImpl> {
 public:
  explicit DistillClipLossImpl(
      DistillClipLossOptions options = DistillClipLossOptions());

  DistillClipLosses forward(const at::Tensor& image_features,
                            const at::Tensor& text_features,
                            const at::Tensor& logit_scale,
                            const at::Tensor& teacher_image_features,
                            const at::Tensor& teacher_text_features,
                            const at::Tensor& teacher_logit_scale);

  const DistillClipLossOptions& options() const { return options_; }
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

 private:
  DistillClipLossOptions options_;
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
}  // namespace tally::losses
