#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/soft_counts/soft_counts_options.h"

namespace tally::losses {

/// Options of losses from the Tversky index.
template <class Self>
struct TverskyOptions : ClassCountsOptions<Self> {
  TALLY_INHERITED_ARG(Self, double, alpha) = 0.5;
  TALLY_INHERITED_ARG(Self, double, beta) = 0.5;

 public:
  void visit(OptionVisitor& v) {
    ClassCountsOptions<Self>::visit(v);
    v("alpha", alpha_, "Weight of false positives.");
    v("beta", beta_, "Weight of false negatives.");
  }
};

/// Options for TverskyLoss.
struct TverskyLossOptions : TverskyOptions<TverskyLossOptions> {};

/// 1 - Tversky index of soft counts: Dice with weights for false positives and
/// false negatives.
///
///   1 - (tp + smooth_nr) / (tp + alpha fp + beta fn + smooth_dr),
///   tp = sum(p y), fp = sum(p) - tp, fn = sum(y) - tp
/// for each class. Dice for alpha = beta = 0.5, Jaccard for 1.
///
/// forward(preds, target): as DiceLoss's, also what ranks send.
///
/// Salehi et al., arXiv 1706.05721; MONAI's and smp's TverskyLoss.
///
/// Example:
///     losses::TverskyLoss tversky(
///         losses::TverskyLossOptions().alpha(0.3).beta(0.7));
///     tversky->forward(model->forward(x), target).backward();
class TverskyLossImpl
    : public internal::LossModule<TverskyLossImpl, TverskyLossOptions> {
 public:
  static constexpr const char* kName = "TverskyLoss";
  static constexpr LossSummary kSummary{
      "1 - Tversky index of the soft counts of all ranks.",
      "preds, target",
      "",
      "tversky",
      R"(1 - \frac{TP + s}{TP + \alpha FP + \beta FN + s})",
      "Salehi, Erdogmus and Gholipour 2017"};

  explicit TverskyLossImpl(TverskyLossOptions options = TverskyLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(TverskyLoss);

/// Options for FocalTverskyLoss.
struct FocalTverskyLossOptions : TverskyOptions<FocalTverskyLossOptions> {
  /// Above 1, classes that are predicted badly count for more. Default: 4 / 3.
  TALLY_INHERITED_ARG(FocalTverskyLossOptions, double, gamma) = 4.0 / 3;

 public:
  void visit(OptionVisitor& v) {
    TverskyOptions::visit(v);
    v("gamma", gamma_, "The loss of each class to the power of 1 / gamma.");
  }
};

/// TverskyLoss of each class to the power of 1 / gamma.
///
/// Where that power has an infinite slope, at the loss 0 for gamma > 1, losses
/// below 1e-6 are multiples of themselves instead. With smooth_nr above
/// smooth_dr, a TverskyLoss below 0 counts as 0.
///
/// forward(preds, target): as DiceLoss's, also what ranks send.
///
/// Abraham and Khan, arXiv 1810.07842, who add up the classes. smp's
/// TverskyLoss has the power gamma of the mean over classes.
///
/// Example:
///     losses::FocalTverskyLoss tversky(
///         losses::FocalTverskyLossOptions().alpha(0.3).beta(0.7));
///     tversky->forward(model->forward(x), target).backward();
class FocalTverskyLossImpl
    : public internal::LossModule<FocalTverskyLossImpl,
                                  FocalTverskyLossOptions> {
 public:
  static constexpr const char* kName = "FocalTverskyLoss";
  static constexpr LossSummary kSummary{
      "The power of 1 - Tversky index of each class.",
      "preds, target",
      "",
      "focal tversky",
      R"(\sum_c (1 - T_c)^{1/\gamma})",
      "Abraham and Khan 2019"};

  explicit FocalTverskyLossImpl(
      FocalTverskyLossOptions options = FocalTverskyLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(FocalTverskyLoss);

namespace functional {

/// See TverskyLoss.
at::Tensor tversky_loss(const at::Tensor& preds, const at::Tensor& target,
                        const TverskyLossOptions& options = {});

/// See FocalTverskyLoss.
at::Tensor focal_tversky_loss(const at::Tensor& preds, const at::Tensor& target,
                              const FocalTverskyLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<TverskyLossImpl, TverskyLossOptions>;
extern template class internal::LossModule<FocalTverskyLossImpl,
                                           FocalTverskyLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::TverskyLossImpl>;
extern template class torch::nn::Cloneable<tally::losses::FocalTverskyLossImpl>;
