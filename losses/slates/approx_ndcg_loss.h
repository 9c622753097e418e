#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/slates/slate_options.h"

namespace tally::losses {

/// Options for ApproxNDCGLoss.
struct ApproxNDCGLossOptions : SlateOptions<ApproxNDCGLossOptions> {
  /// Factor of the differences of scores.
  TALLY_INHERITED_ARG(ApproxNDCGLossOptions, double, alpha) = 1;
  /// Whether slates without a relevant item count, with the loss 1.
  TALLY_INHERITED_ARG(ApproxNDCGLossOptions, bool, count_irrelevant) = false;

 public:
  void visit(OptionVisitor& v) {
    SlateOptions::visit(v);
    v("alpha", alpha_, "Steepness of the sigmoids that stand for positions.");
    v("count_irrelevant", count_irrelevant_,
      "Whether slates without relevant items count as 1.");
  }
};

/// 1 - NDCG, with positions made smooth by a sigmoid.
///
///   pos_i = 1 + sum_{j != i} sigmoid(alpha (s_j - s_i)),
///   loss = 1 - sum_i (2^y_i - 1) / log2(1 + pos_i) / IDCG,
/// the mean over slates.
///
/// forward(preds, target) takes this rank's slates: scores [B, L] of any
/// floating dtype, computed in float32 or wider regardless of autocast, and as
/// many relevance grades of any dtype, at least 0 (or `padding`), which require
/// no gradient. The number of slates B may differ between ranks and be 0; all
/// items of a slate are on one rank. Two numbers are sent, the sum of losses
/// and the number of slates; none in backward.
///
/// forward(preds, target, query) takes items [n] instead, with the number of
/// the query of each, integers: those of a query are a slate, wherever they
/// lie. All items are then sent (8 bytes each for query and grade, 4 or 8 for
/// the score), and every rank computes the loss of all; second-order gradients
/// are a c10::Error.
///
/// The result is one number, the same on every rank: the mean over the slates
/// of all ranks with a relevant item; 0, with zero gradients, without any.
/// Gradients: averaged over the ranks, those of parameters equal those of one
/// process with all slates, including second-order gradients. Pairs of items
/// are kept for a few slates at a time, and recomputed in backward.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed. Qin et al., 2010; allRank's approxNDCGLoss, which
/// returns minus the NDCG and counts slates without relevant items as 0.
///
/// Example:
///     losses::ApproxNDCGLoss ndcg;
///     ndcg->forward(model->forward(x), target).backward();
///     sync::average_gradients(model->parameters());
class ApproxNDCGLossImpl
    : public internal::LossModule<ApproxNDCGLossImpl, ApproxNDCGLossOptions> {
 public:
  static constexpr const char* kName = "ApproxNDCGLoss";
  static constexpr LossSummary kSummary{
      "1 - NDCG with sigmoids for positions, over the slates of all ranks.",
      "preds, target, query?",
      "",
      "approx ndcg",
      R"(1 - \frac{1}{Z} \sum_i \frac{2^{y_i} - 1}{\log_2 (1 + \hat \pi_i)})",
      "Qin, Liu and Li 2010"};

  explicit ApproxNDCGLossImpl(
      ApproxNDCGLossOptions options = ApproxNDCGLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target,
                     const at::Tensor& query = {});
};

TORCH_MODULE(ApproxNDCGLoss);

namespace functional {

/// See ApproxNDCGLoss.
at::Tensor approx_ndcg_loss(const at::Tensor& preds, const at::Tensor& target,
                            const ApproxNDCGLossOptions& options = {},
                            const at::Tensor& query = {});

}  // namespace functional
extern template class internal::LossModule<ApproxNDCGLossImpl,
                                           ApproxNDCGLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::ApproxNDCGLossImpl>;
