#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// What a pair of a positive and a negative costs, by the difference d of their
/// scores.
enum class AUCSurrogate {
  kSquared,       ///< (margin - d)^2, also above the margin
  kSquaredHinge,  ///< max(0, margin - d)^2
  kLogistic,      ///< log(1 + exp(-scale d))
};

/// Options for PairwiseAUCLoss.
struct PairwiseAUCLossOptions : RankOptions<PairwiseAUCLossOptions> {
  TORCH_ARG(AUCSurrogate, surrogate) = AUCSurrogate::kSquaredHinge;
  /// Of kSquared and kSquaredHinge.
  TORCH_ARG(double, margin) = 1;
  /// Of kLogistic.
  TORCH_ARG(double, scale) = 1;

 public:
  void visit(OptionVisitor& v) {
    v("surrogate", surrogate_, tally::internal::words::kSurrogate);
    v("margin", margin_, tally::internal::words::kMargin);
    v("scale", scale_, tally::internal::words::kScale);
  }
};

/// A loss for the area under the ROC curve (AUROC), which is the fraction of
/// pairs of a positive and a negative in the correct order: the mean of the
/// surrogate over all such pairs of all ranks.
///
/// forward(preds, target) takes this rank's scores, of any size and floating
/// dtype, and as many labels 0 and 1, of integers or bool; it computes in
/// float64. The numbers of samples may differ between ranks and be 0.
///
/// Costs and traffic, for N+ positives and N- negatives of all ranks:
/// * kSquared: the pairs' mean follows from counts, means and variances of both
///   classes. O(N); seven numbers are sent.
/// * kSquaredHinge: O(N log min(N+, N-)). The class with fewer samples is
///   gathered (8 bytes each), and as many numbers are summed over the ranks.
/// * kLogistic: the same traffic; O(N+ N-), in tiles.
///
/// The result is one number, the same on every rank; 0, with zero gradients, if
/// there is no pair on any ranks. Gradients: averaged over the ranks, those of
/// parameters equal those of one process with all samples, also on a rank that
/// has one of the classes only; no communication in backward. Second-order
/// gradients are exact for kSquared, a c10::Error otherwise. NaN scores give
/// NaN.
///
/// A mean of the ranks' losses has the right direction on average, but knows
/// no pairs between ranks, and is too small where ranks lack a class.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed. Rust and Hocking, arXiv 2302.11062; LibAUC's
/// PairwiseAUCLoss.
///
/// Example:
///     losses::PairwiseAUCLoss auc;
///     const at::Tensor output = model->forward(x).select(1, 0);
///     auc->forward(output, target.eq(1)).backward();
///     sync::average_gradients(model->parameters());
class PairwiseAUCLossImpl
    : public internal::LossModule<PairwiseAUCLossImpl, PairwiseAUCLossOptions> {
 public:
  static constexpr const char* kName = "PairwiseAUCLoss";
  static constexpr LossSummary kSummary{
      "A surrogate of AUROC over the pairs of all ranks.",
      "preds, target",
      "",
      "auc loss, pairwise hinge",
      R"(\frac{1}{N_+ N_-} \sum_{i \in +, j \in -} \ell(s_i - s_j))",
      "Gao and Zhou 2015"};

  explicit PairwiseAUCLossImpl(
      PairwiseAUCLossOptions options = PairwiseAUCLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(PairwiseAUCLoss);

namespace functional {

/// See PairwiseAUCLoss.
at::Tensor pairwise_auc_loss(const at::Tensor& preds, const at::Tensor& target,
                             const PairwiseAUCLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<PairwiseAUCLossImpl,
                                           PairwiseAUCLossOptions>;

}  // namespace tally::losses

namespace tally {
template <>
struct EnumNames<losses::AUCSurrogate> {
  static constexpr const char* kNames[] = {"squared", "squared_hinge",
                                           "logistic"};
};
}  // namespace tally

extern template class torch::nn::Cloneable<tally::losses::PairwiseAUCLossImpl>;
