#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/losses/ranking/pairwise_auc_loss.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// How PartialAUCLoss finds the negatives that count.
enum class PartialAUCForm {
  kTop,        ///< those with the highest scores
  kLogSumExp,  ///< all, the more the more they cost
};

/// Options for PartialAUCLoss.
struct PartialAUCLossOptions : RankOptions<PartialAUCLossOptions> {
  TORCH_ARG(PartialAUCForm, form) = PartialAUCForm::kTop;
  /// Of kTop: the largest false positive rate.
  TORCH_ARG(double, max_fpr) = 0.1;
  /// Of kLogSumExp: the smaller, the more the costliest negatives count.
  TORCH_ARG(double, lambda) = 1;
  /// kSquaredHinge or kLogistic.
  TORCH_ARG(AUCSurrogate, surrogate) = AUCSurrogate::kSquaredHinge;
  /// Of kSquaredHinge.
  TORCH_ARG(double, margin) = 1;
  /// Of kLogistic.
  TORCH_ARG(double, scale) = 1;

 public:
  void visit(OptionVisitor& v) {
    v("form", form_, "Only the costliest negatives, or all with soft weights.");
    v("max_fpr", max_fpr_, "Largest false positive rate that counts.");
    v("lambda_", lambda_,
      "The smaller, the more the costliest negatives count.");
    v("surrogate", surrogate_, tally::internal::words::kSurrogate);
    v("margin", margin_, tally::internal::words::kMargin);
    v("scale", scale_, tally::internal::words::kScale);
  }
};

/// A loss for the partial area under the ROC curve, up to a false positive
/// rate.
///
/// kTop: the mean of PairwiseAUCLoss's surrogate over the pairs of positives
/// and the k = ceil(max_fpr N-) negatives with the highest scores, which are
/// the costliest ones for every positive. If there are equal scores at the end,
/// those negatives share what is left of k, so that the loss does not depend on
/// the order of samples.
///
/// kLogSumExp, for the surrogate l(p, n) of a positive and a negative:
///
///   lambda / N+ sum over p of log( 1 / N- sum over n of exp(l(p, n) / lambda)
///   )
///
/// forward(preds, target), result, gradients and errors: as PairwiseAUCLoss,
/// with the samples of all ranks. kTop gathers k negatives at most from each
/// rank (8 bytes each), and sums as many numbers over the ranks. kLogSumExp
/// gathers positives and sums three numbers for each, in O(N+ n) for n samples
/// of this rank, in tiles. Second-order gradients are a c10::Error.
///
/// Zhu et al., arXiv 2203.00176; LibAUC's pAUC_CVaR_Loss and pAUC_DRO_Loss,
/// which estimate both from previous batches.
///
/// Example:
///     losses::PartialAUCLoss
///     auc(losses::PartialAUCLossOptions().max_fpr(0.3)); const at::Tensor
///     output = model->forward(x).select(1, 0); auc->forward(output,
///     target.eq(1)).backward(); sync::average_gradients(model->parameters());
class PartialAUCLossImpl
    : public internal::LossModule<PartialAUCLossImpl, PartialAUCLossOptions> {
 public:
  static constexpr const char* kName = "PartialAUCLoss";
  static constexpr LossSummary kSummary{
      "A surrogate of the partial AUROC over the samples of all ranks.",
      "preds, target",
      "",
      "pauc loss",
      R"(\frac{1}{N_+ k} \sum_{i \in +} \sum_{j \in top_k} \ell(s_i - s_j))",
      "Zhu et al. 2022"};

  explicit PartialAUCLossImpl(
      PartialAUCLossOptions options = PartialAUCLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(PartialAUCLoss);

namespace functional {

/// See PartialAUCLoss.
at::Tensor partial_auc_loss(const at::Tensor& preds, const at::Tensor& target,
                            const PartialAUCLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<PartialAUCLossImpl,
                                           PartialAUCLossOptions>;

}  // namespace tally::losses

namespace tally {
template <>
struct EnumNames<losses::PartialAUCForm> {
  static constexpr const char* kNames[] = {"top", "log_sum_exp"};
};
}  // namespace tally

extern template class torch::nn::Cloneable<tally::losses::PartialAUCLossImpl>;
