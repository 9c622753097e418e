#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/soft_counts/soft_counts_options.h"

namespace tally::losses {

/// Options for FBetaLoss.
struct FBetaLossOptions : ClassCountsOptions<FBetaLossOptions> {
  /// Weight of recall against precision.
  TALLY_INHERITED_ARG(FBetaLossOptions, double, beta) = 1;

 public:
  void visit(OptionVisitor& v) {
    ClassCountsOptions::visit(v);
    v("beta", beta_, "Weight of recall relative to precision.");
  }
};

/// 1 - F-beta score of soft counts.
///
///   1 - ((1 + beta^2) sum(p y) + smooth_nr)
///       / (sum(p) + beta^2 sum(y) + smooth_dr)
/// for each class; DiceLoss for beta = 1.
///
/// forward(preds, target): as DiceLoss's, also what ranks send.
///
/// Example:
///     losses::FBetaLoss f2(losses::FBetaLossOptions().beta(2));
///     f2->forward(model->forward(x), target).backward();
class FBetaLossImpl
    : public internal::LossModule<FBetaLossImpl, FBetaLossOptions> {
 public:
  static constexpr const char* kName = "FBetaLoss";
  static constexpr LossSummary kSummary{
      "1 - F-beta score of the soft counts of all ranks.", "preds, target", "",
      "f1 loss, soft f1",
      R"(1 - \frac{(1 + \beta^2) TP + s}{(1 + \beta^2) TP + \beta^2 FN + FP + s})"};

  explicit FBetaLossImpl(FBetaLossOptions options = FBetaLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(FBetaLoss);

namespace functional {

/// See FBetaLoss.
at::Tensor f_beta_loss(const at::Tensor& preds, const at::Tensor& target,
                       const FBetaLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<FBetaLossImpl, FBetaLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::FBetaLossImpl>;
