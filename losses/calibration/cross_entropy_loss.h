#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tally/losses/common/label_inputs.h"
#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options of GlobalCrossEntropyLoss and FocalLoss.
template <class Self>
struct CrossEntropyOptions : RankOptions<Self> {
  TALLY_INHERITED_ARG(Self, LabelMode, mode) = LabelMode::kMulticlass;
  /// A weight for each class or label, at least 0. Default: none, which means
  /// 1.
  TALLY_INHERITED_ARG(Self, std::vector<double>, class_weights) = {};
  /// The fraction of a target that is spread over all classes, or over 0 and 1.
  TALLY_INHERITED_ARG(Self, double, label_smoothing) = 0;
  /// Positions with this integer target do not count.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("mode", mode_, tally::internal::words::kLabelMode);
    v("class_weights", class_weights_, "Weight of each class; []: 1.");
    v("label_smoothing", label_smoothing_,
      "Fraction of a target that is spread over all classes.");
    v("ignore_index", ignore_index_, tally::internal::words::kIgnoredTargets);
  }
};

/// Options for GlobalCrossEntropyLoss.
struct GlobalCrossEntropyLossOptions
    : CrossEntropyOptions<GlobalCrossEntropyLossOptions> {};

/// The cross-entropy of labels and logits, as the ratio of two sums over the
/// positions of all ranks.
///
///   sum over positions and classes c of w_c q_c (-log p_c)
///     / sum over positions and classes of w_c y_c
/// where p is the softmax of logits, y the target (1 for its class), q = (1 -
/// label_smoothing) y + label_smoothing / C, and w class_weights. With kBinary
/// and kMultilabel, p is a sigmoid, each label has the two classes 0 and 1 with
/// the same weight, and the divisor is the sum of weights.
///
/// forward(preds, target) takes this rank's logits, of any floating dtype,
/// computed in float32 or wider regardless of autocast, and labels: integers,
/// bool, or numbers in [0, 1], which require no gradient. LabelMode has the
/// shapes. The number of samples may differ between ranks and be 0.
///
/// The divisor is that of all ranks: with class weights, ignored positions or
/// uneven batches, a mean of the ranks' ratios is another loss. Two numbers are
/// sent, none in backward. On the CPU, backward needs two numbers of each
/// position besides the inputs.
///
/// The result is one number, the same on every rank; 0, with zero gradients,
/// without any position that counts. Gradients: averaged over the ranks, those
/// of parameters equal those of one process with all samples, including
/// second-order gradients.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed; c10::Error in backward, if target was changed in
/// place since. torch::nn::CrossEntropyLoss, whose divisor for labels between 0
/// and 1 is the number of positions.
///
/// Example:
///     losses::GlobalCrossEntropyLoss cross_entropy(
///         losses::GlobalCrossEntropyLossOptions().label_smoothing(0.1));
///     cross_entropy->forward(model->forward(x), target).backward();
///     sync::average_gradients(model->parameters());
class GlobalCrossEntropyLossImpl
    : public internal::LossModule<GlobalCrossEntropyLossImpl,
                                  GlobalCrossEntropyLossOptions> {
 public:
  static constexpr const char* kName = "GlobalCrossEntropyLoss";
  static constexpr LossSummary kSummary{
      "Cross-entropy as a ratio of sums over all ranks.", "preds, target", "",
      "cross-entropy, ce, nll, bce",
      R"(-\frac{\sum_n w_{y_n} \log p_{n, y_n}}{\sum_n w_{y_n}})"};

  explicit GlobalCrossEntropyLossImpl(
      GlobalCrossEntropyLossOptions options = GlobalCrossEntropyLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(GlobalCrossEntropyLoss);

/// Options for FocalLoss.
struct FocalLossOptions : CrossEntropyOptions<FocalLossOptions> {
  /// The larger, the less positions that are predicted well count.
  TALLY_INHERITED_ARG(FocalLossOptions, double, gamma) = 2;
  /// Of kBinary and kMultilabel: the weight of label 1, and 1 - alpha that of
  /// label 0. Not in the divisor. Default: none, which means 1 for both.
  TALLY_INHERITED_ARG(FocalLossOptions, std::optional<double>,
                      alpha) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    CrossEntropyOptions::visit(v);
    v("gamma", gamma_,
      "Focusing exponent: down-weights well-classified samples.");
    v("alpha", alpha_,
      "Weight of positives, 1 - alpha of negatives; none: 1 for both.");
  }
};

/// GlobalCrossEntropyLoss with (1 - p_c)^gamma times each term: well-calibrated
/// probabilities, and rare classes among many easy positions.
///
/// forward(preds, target): as GlobalCrossEntropyLoss's, also what is sent.
///
/// Lin et al., arXiv 1708.02002; Mukhoti et al., arXiv 2002.09437; MONAI's
/// FocalLoss, and torchvision's sigmoid_focal_loss with reduction "mean".
///
/// Example:
///     losses::FocalLoss focal(losses::FocalLossOptions().gamma(3));
///     focal->forward(model->forward(x), target).backward();
class FocalLossImpl
    : public internal::LossModule<FocalLossImpl, FocalLossOptions> {
 public:
  static constexpr const char* kName = "FocalLoss";
  static constexpr LossSummary kSummary{
      "Cross-entropy with less weight on well-classified samples.",
      "preds, target",
      "",
      "focal",
      R"(-\frac{\sum_n w_n (1 - p_{n, y_n})^\gamma \log p_{n, y_n}}{\sum_n w_n})",
      "Lin et al. 2017"};

  explicit FocalLossImpl(FocalLossOptions options = FocalLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(FocalLoss);

namespace functional {

/// See GlobalCrossEntropyLoss.
at::Tensor cross_entropy_loss(
    const at::Tensor& preds, const at::Tensor& target,
    const GlobalCrossEntropyLossOptions& options = {});

/// See FocalLoss.
at::Tensor focal_loss(const at::Tensor& preds, const at::Tensor& target,
                      const FocalLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<GlobalCrossEntropyLossImpl,
                                           GlobalCrossEntropyLossOptions>;
extern template class internal::LossModule<FocalLossImpl, FocalLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<
    tally::losses::GlobalCrossEntropyLossImpl>;
extern template class torch::nn::Cloneable<tally::losses::FocalLossImpl>;
