#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/soft_counts/soft_counts_options.h"

namespace tally::losses {

/// Options for JaccardLoss.
struct JaccardLossOptions : ClassCountsOptions<JaccardLossOptions> {};

/// 1 - Jaccard index of soft counts, the intersection over union (IoU) as a
/// loss.
///
///   1 - (sum(p y) + smooth_nr) / (sum(p) + sum(y) - sum(p y) + smooth_dr)
/// for each class.
///
/// forward(preds, target): as DiceLoss's, also what ranks send.
///
/// MONAI's DiceLoss with jaccard=True is the same for smooth_nr = 0; smp's
/// JaccardLoss (absent: kZero).
///
/// Example:
///     losses::JaccardLoss jaccard;
///     jaccard->forward(model->forward(x), target).backward();
class JaccardLossImpl
    : public internal::LossModule<JaccardLossImpl, JaccardLossOptions> {
 public:
  static constexpr const char* kName = "JaccardLoss";
  static constexpr LossSummary kSummary{
      "1 - Jaccard index of the soft counts of all ranks.",
      "preds, target",
      "",
      "iou loss, soft iou",
      R"(1 - \frac{\sum p y + s}{\sum p + \sum y - \sum p y + s})",
      "Rahman and Wang 2016"};

  explicit JaccardLossImpl(JaccardLossOptions options = JaccardLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(JaccardLoss);

namespace functional {

/// See JaccardLoss.
at::Tensor jaccard_loss(const at::Tensor& preds, const at::Tensor& target,
                        const JaccardLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<JaccardLossImpl, JaccardLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::JaccardLossImpl>;
