#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/label_inputs.h"
#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/metrics/score_kind.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for MMCELoss.
struct MMCELossOptions : RankOptions<MMCELossOptions> {
  /// kBinary or kMulticlass.
  TORCH_ARG(LabelMode, mode) = LabelMode::kMulticlass;
  /// kLogits (sigmoid or softmax are applied) or kProbabilities.
  TORCH_ARG(ScoreKind, input) = ScoreKind::kLogits;
  /// The difference of confidences at which the kernel is 1 / e.
  TORCH_ARG(double, bandwidth) = 0.4;
  /// Without the root.
  TORCH_ARG(bool, squared) = false;

 public:
  void visit(OptionVisitor& v) {
    v("mode", mode_, tally::internal::words::kLabelMode);
    v("input", input_, tally::internal::words::kScores);
    v("bandwidth", bandwidth_, "Width of the kernel of confidences.");
    v("squared", squared_, "If true, the square of the error.");
  }
};

/// The maximum mean calibration error, added to another loss.
///
///   loss^2 = 1 / M^2 sum over samples i, j of
///            (a_i - c_i) (a_j - c_j) exp(-|c_i - c_j| / bandwidth)
/// for M samples with a confidence c and an accuracy a: the largest probability
/// and whether its class is the target; with kBinary, the probability and the
/// label.
///
/// forward(preds, target): as SoftCalibrationLoss's. Pairs are those of the
/// samples of all ranks: confidence and accuracy of each sample are sent,
/// nothing in backward. The sum over pairs is taken in O(M log M), by a scan of
/// sorted confidences, in float64.
///
/// The result is one number, the same on every rank; 0, with zero gradients, if
/// no rank has samples, or without any error. Gradients: averaged over the
/// ranks, those of parameters equal those of one process with all samples;
/// accuracies count as constants. Second-order gradients are a c10::Error. NaN
/// scores give NaN.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed. Kumar et al., ICML 2018; its equation of MMCE_m.
///
/// Example:
///     losses::MMCELoss mmce;
///     mmce->forward(model->forward(x), target).backward();
///     sync::average_gradients(model->parameters());
class MMCELossImpl
    : public internal::LossModule<MMCELossImpl, MMCELossOptions> {
 public:
  static constexpr const char* kName = "MMCELoss";
  static constexpr LossSummary kSummary{
      "The maximum mean calibration error over the samples of all ranks.",
      "preds, target",
      "",
      "mmce, calibration loss",
      R"(\sqrt{\frac{1}{N^2} \sum_{i, j} (c_i - r_i)(c_j - r_j) k(r_i, r_j)})",
      "Kumar, Sarawagi and Jain 2018"};

  explicit MMCELossImpl(MMCELossOptions options = MMCELossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(MMCELoss);

namespace functional {

/// See MMCELoss.
at::Tensor mmce_loss(const at::Tensor& preds, const at::Tensor& target,
                     const MMCELossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<MMCELossImpl, MMCELossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::MMCELossImpl>;
