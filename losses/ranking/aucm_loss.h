#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/options.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for AUCMLoss.
struct AUCMLossOptions : RankOptions<AUCMLossOptions> {
  TORCH_ARG(double, margin) = 1;
  /// Whether the module has the parameters a, b and alpha of the min-max
  /// problem. Default: false, which solves it in closed form.
  TORCH_ARG(bool, learned) = false;

 public:
  void visit(OptionVisitor& v) {
    v("margin", margin_, "Margin of positive over negative scores.");
    v("learned", learned_,
      "Whether a, b and alpha are parameters; false: in closed form.");
  }
};

/// The AUC margin loss: the squared loss of all pairs (PairwiseAUCLoss's
/// kSquared) without a cost for being further apart than the margin.
///
///   min over a, b, max over alpha >= 0 of
///     E+ (h - a)^2 + E- (h - b)^2
///     + 2 alpha (margin + E- h - E+ h) - alpha^2
///   = Var+ h + Var- h + max(0, margin + E- h - E+ h)^2
/// where E+ and E- are means over the positives and negatives of all ranks, h
/// scores, often of a sigmoid.
///
/// With learned(true), the first line for the module's parameters a, b and
/// alpha, which start at 0: a and b are minimized, alpha is maximized
/// (its gradient negated) and kept at least 0. In closed form (the default) the
/// loss has their best values in each step, and needs no special optimizer.
///
/// forward(preds, target) takes this rank's scores, of any size and floating
/// dtype, and as many labels 0 and 1, of integers or bool; it computes in
/// float64, less the mean score, so that an offset costs no precision. Seven
/// numbers are sent, none in backward.
///
/// The result is one number, the same on every rank; 0, with zero gradients, if
/// no rank has positives, or no rank has negatives. Gradients: averaged over
/// the ranks, those of parameters equal those of one process with all samples,
/// including second-order gradients.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed. Yuan et al., arXiv 2012.03173; p (1 - p) times this
/// is LibAUC's AUCMLoss (version v1), p being the fraction of positives.
///
/// Example:
///     losses::AUCMLoss aucm;
///     const at::Tensor output = model->forward(x).select(1, 0).sigmoid();
///     aucm->forward(output, target.eq(1)).backward();
///     sync::average_gradients(model->parameters());
class AUCMLossImpl
    : public internal::LossModule<AUCMLossImpl, AUCMLossOptions> {
 public:
  static constexpr const char* kName = "AUCMLoss";
  static constexpr LossSummary kSummary{
      "The AUC margin loss over the samples of all ranks.",
      "preds, target",
      "",
      "auc margin, libauc",
      R"(\min_{a, b} \max_\alpha E[(s_+ - a)^2] + E[(s_- - b)^2] + 2 \alpha (m + E[s_-] - E[s_+]) - \alpha^2)",
      "Yuan et al. 2021"};

  explicit AUCMLossImpl(AUCMLossOptions options = AUCMLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
  void reset() override;

  /// With learned(true) parameters, otherwise undefined.
  at::Tensor a, b, alpha;
};

TORCH_MODULE(AUCMLoss);

namespace functional {

/// See AUCMLoss. Without a, b and alpha, one number each, the closed form;
/// `learned` has no meaning here.
at::Tensor aucm_loss(const at::Tensor& preds, const at::Tensor& target,
                     const AUCMLossOptions& options = {},
                     const at::Tensor& a = {}, const at::Tensor& b = {},
                     const at::Tensor& alpha = {});

}  // namespace functional
extern template class internal::LossModule<AUCMLossImpl, AUCMLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::AUCMLossImpl>;
