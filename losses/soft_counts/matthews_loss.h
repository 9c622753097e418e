#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/soft_counts/soft_counts_options.h"

namespace tally::losses {

/// Options for MatthewsLoss.
struct MatthewsLossOptions : ClassCountsOptions<MatthewsLossOptions> {
  MatthewsLossOptions() { average(Average::kMicro); }
};

/// 1 - Matthews correlation coefficient of soft counts.
///
///   1 - (n tp - s t + smooth_nr)
///       / sqrt(s t (n - s) (n - t) + smooth_dr),
///   tp = sum(p y), s = sum(p), t = sum(y), n = sum(1)
/// for each class or, with kMulticlass and Average::kMicro (the default here),
/// that of the confusion matrix of all classes, as MulticlassMatthewsCorrCoef:
///
///   1 - (n sum(tp) - sum(s t) + smooth_nr)
///       / sqrt((n^2 - sum(s^2)) (n^2 - sum(t^2)) + smooth_dr)
/// With include_background(false), both exclude the counts of class 0.
///
/// forward(preds, target): as DiceLoss's, also what ranks send.
///
/// smp's MCCLoss, which is binary; Abhishek and Hamarneh, arXiv 2010.13454.
///
/// Example:
///     losses::MatthewsLoss matthews;
///     matthews->forward(model->forward(x), target).backward();
class MatthewsLossImpl
    : public internal::LossModule<MatthewsLossImpl, MatthewsLossOptions> {
 public:
  static constexpr const char* kName = "MatthewsLoss";
  static constexpr LossSummary kSummary{
      "1 - Matthews correlation of the soft counts of all ranks.",
      "preds, target",
      "",
      "mcc loss",
      R"(1 - \frac{TP \cdot TN - FP \cdot FN}{\sqrt{(TP + FP)(TP + FN)(TN + FP)(TN + FN)}})",
      "Abhishek and Hamarneh 2021"};

  explicit MatthewsLossImpl(
      MatthewsLossOptions options = MatthewsLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(MatthewsLoss);

namespace functional {

/// See MatthewsLoss.
at::Tensor matthews_loss(const at::Tensor& preds, const at::Tensor& target,
                         const MatthewsLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<MatthewsLossImpl,
                                           MatthewsLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::MatthewsLossImpl>;
