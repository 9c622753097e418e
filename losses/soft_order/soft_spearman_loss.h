#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/losses/soft_order/soft_order.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for SoftSpearmanLoss.
struct SoftSpearmanLossOptions : RankOptions<SoftSpearmanLossOptions> {
  /// See SoftRank.
  TORCH_ARG(SoftOrderPenalty, penalty) = SoftOrderPenalty::kQuadratic;
  /// See SoftRank.
  TORCH_ARG(double, strength) = 0.1;
  /// Whether strength is relative to the standard deviation of preds.
  TORCH_ARG(bool, relative) = true;

 public:
  void visit(OptionVisitor& v) {
    v("penalty", penalty_, tally::internal::words::kPenalty);
    v("strength", strength_, tally::internal::words::kStrength);
    v("relative", relative_, tally::internal::words::kRelative);
  }
};

/// 1 - Spearman's rank correlation, with soft ranks of predictions.
///
///   loss = 1 - Pearson's correlation of SoftRank(preds) and the ranks of
///   target
/// where equal targets have the mean of their ranks.
///
/// forward(preds, target) takes this rank's predictions, of any size and
/// floating dtype, and as many targets, real numbers that require no gradient.
/// The numbers of samples may differ between ranks and be 0. It computes in
/// float64 and returns float32 or wider.
///
/// Samples are ranked among those of all ranks: all rows are sent, a prediction
/// and a target each, nothing in backward. A small strength makes ranks hard
/// and most gradients 0; above the standard deviation of preds the loss is
/// close to 1 - Pearson's correlation with the ranks of target.
///
/// The result is one number, the same on every rank; 0, with zero gradients, if
/// all targets are equal or no rank has samples, and 1, with zero gradients, if
/// all predictions are. Gradients: averaged over the ranks, those of parameters
/// equal those of one process with all samples. Second-order gradients are a
/// c10::Error. NaN gives NaN.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed. Blondel et al., arXiv 2002.08871.
///
/// Example:
///     losses::SoftSpearmanLoss spearman;
///     const at::Tensor output = model->forward(x).select(1, 0);
///     spearman->forward(output, x.select(1, 0)).backward();
///     sync::average_gradients(model->parameters());
class SoftSpearmanLossImpl
    : public internal::LossModule<SoftSpearmanLossImpl,
                                  SoftSpearmanLossOptions> {
 public:
  static constexpr const char* kName = "SoftSpearmanLoss";
  static constexpr LossSummary kSummary{
      "1 - Spearman correlation with soft ranks, over all samples.",
      "preds, target",
      "",
      "spearman loss",
      R"(1 - \mathrm{corr}(r_\epsilon(\hat y), rank(y)))",
      "Blondel et al. 2020"};

  explicit SoftSpearmanLossImpl(
      SoftSpearmanLossOptions options = SoftSpearmanLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(SoftSpearmanLoss);

namespace functional {

/// See SoftSpearmanLoss.
at::Tensor soft_spearman_loss(const at::Tensor& preds, const at::Tensor& target,
                              const SoftSpearmanLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<SoftSpearmanLossImpl,
                                           SoftSpearmanLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::SoftSpearmanLossImpl>;
