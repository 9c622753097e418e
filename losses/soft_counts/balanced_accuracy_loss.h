#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/soft_counts/soft_counts_options.h"

namespace tally::losses {

/// Options for BalancedAccuracyLoss.
struct BalancedAccuracyLossOptions
    : ClassCountsOptions<BalancedAccuracyLossOptions> {};

/// 1 - balanced accuracy of soft counts.
///
/// With kMulticlass, 1 - recall for each class, whose mean is the loss:
///
///   1 - (sum(p y) + smooth_nr) / (sum(y) + smooth_dr)
/// Otherwise, for each label, 1 - the mean of the recalls of 1 and 0, the
/// latter from sum((1 - p) (1 - y)) and sum(1 - y).
///
/// A class that does not occur in target has no recall: with the default
/// AbsentClassLoss::kSmooth it counts as predicted correctly, and kSkip skips
/// it, as sklearn.metrics.balanced_accuracy_score does.
///
/// forward(preds, target): as DiceLoss's, also what ranks send.
///
/// Example:
///     losses::BalancedAccuracyLoss loss(
///         losses::BalancedAccuracyLossOptions().absent(
///             losses::AbsentClassLoss::kSkip));
///     loss->forward(model->forward(x), target).backward();
class BalancedAccuracyLossImpl
    : public internal::LossModule<BalancedAccuracyLossImpl,
                                  BalancedAccuracyLossOptions> {
 public:
  static constexpr const char* kName = "BalancedAccuracyLoss";
  static constexpr LossSummary kSummary{
      "1 - balanced accuracy of the soft counts of all ranks.", "preds, target",
      "", "balanced accuracy",
      R"(1 - \frac{1}{C} \sum_c \frac{TP_c}{TP_c + FN_c})"};

  explicit BalancedAccuracyLossImpl(
      BalancedAccuracyLossOptions options = BalancedAccuracyLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(BalancedAccuracyLoss);

namespace functional {

/// See BalancedAccuracyLoss.
at::Tensor balanced_accuracy_loss(
    const at::Tensor& preds, const at::Tensor& target,
    const BalancedAccuracyLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<BalancedAccuracyLossImpl,
                                           BalancedAccuracyLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<
    tally::losses::BalancedAccuracyLossImpl>;
