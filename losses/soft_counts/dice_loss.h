#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/soft_counts/soft_counts_options.h"

namespace tally::losses {

/// Options for DiceLoss.
struct DiceLossOptions : ClassCountsOptions<DiceLossOptions> {};

/// 1 - Dice of soft counts, the F1 score or Dice coefficient as a loss.
///
///   1 - (2 sum(p y) + smooth_nr) / (sum(p) + sum(y) + smooth_dr)
/// for each class, where p are probabilities and y labels.
///
/// forward(preds, target) takes this rank's scores, of any floating dtype,
/// computed in float32 or wider regardless of autocast, and labels: integers,
/// bool, or numbers in [0, 1], which require no gradient. LabelMode has the
/// shapes. The number of samples N may differ between ranks and be 0.
///
/// Counts are sums over the samples of all ranks, so that the loss is that of
/// the global batch, and so are the counts that say whether a class is absent:
/// each rank sends four sums (of p y, p, y and 1) for each class; with
/// batch(false), the sums of its samples' losses and their number. One
/// collective in forward, none in backward. A mean of the ranks' losses would
/// be a different number: classes that are rare are missing on some ranks.
///
/// The result is one number, or one for each class with Average::kNone, the
/// same on every rank; 0, with zero gradients, without any position that
/// counts. Gradients: averaged over the ranks, those of parameters equal those
/// of one process with all samples, including second-order gradients. NaN
/// scores give NaN.
///
/// On the CPU, softmax or sigmoid and counts are computed in one pass and
/// recomputed in backward: the gradient of preds is the only memory of their
/// size. All losses from soft counts share this.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed. Milletari et al., arXiv 1606.04797; MONAI's DiceLoss,
/// smp's DiceLoss (absent: kZero), nnU-Net's SoftDiceLoss less 1.
///
/// Example:
///     losses::DiceLoss dice;
///     dice->forward(model->forward(x), target).backward();
///     sync::average_gradients(model->parameters());
class DiceLossImpl
    : public internal::LossModule<DiceLossImpl, DiceLossOptions> {
 public:
  static constexpr const char* kName = "DiceLoss";
  static constexpr LossSummary kSummary{
      "1 - Dice of the soft counts of all ranks.",
      "preds, target",
      "",
      "dice, soft dice",
      R"(1 - \frac{2 \sum p y + s}{\sum p + \sum y + s})",
      "Milletari, Navab and Ahmadi 2016"};

  explicit DiceLossImpl(DiceLossOptions options = DiceLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(DiceLoss);

/// The weights of classes in GeneralizedDiceLoss.
enum class DiceWeight {
  kSquare,   ///< 1 / sum(y)^2
  kSimple,   ///< 1 / sum(y)
  kUniform,  ///< 1
};

/// Options for GeneralizedDiceLoss.
struct GeneralizedDiceLossOptions
    : SoftCountsOptions<GeneralizedDiceLossOptions> {
  TALLY_INHERITED_ARG(GeneralizedDiceLossOptions, DiceWeight,
                      weight) = DiceWeight::kSquare;

 public:
  void visit(OptionVisitor& v) {
    SoftCountsOptions::visit(v);
    v("weight", weight_, "Weights of classes by their size.");
  }
};

/// 1 - Dice of all classes together, weighted such that rare ones count as
/// much as frequent ones.
///
///   1 - (2 sum_c w_c sum(p_c y_c) + smooth_nr)
///       / (sum_c w_c (sum(p_c) + sum(y_c)) + smooth_dr),
///   w_c = 1 / sum(y_c)^2
/// over the global batch. A class that does not occur has the largest weight of
/// those that do, with the default AbsentClassLoss::kSmooth; otherwise it does
/// not count.
///
/// forward(preds, target): as DiceLoss's, but always one number.
///
/// Sudre et al., arXiv 1707.03237; MONAI's GeneralizedDiceLoss.
///
/// Example:
///     losses::GeneralizedDiceLoss dice;
///     dice->forward(model->forward(x), target).backward();
class GeneralizedDiceLossImpl
    : public internal::LossModule<GeneralizedDiceLossImpl,
                                  GeneralizedDiceLossOptions> {
 public:
  static constexpr const char* kName = "GeneralizedDiceLoss";
  static constexpr LossSummary kSummary{
      "1 - Dice of all classes, weighted by how rare they are.",
      "preds, target",
      "",
      "generalized dice",
      R"(1 - \frac{2 \sum_c w_c \sum p_c y_c}{\sum_c w_c (\sum p_c + \sum y_c)})",
      "Sudre et al. 2017"};

  explicit GeneralizedDiceLossImpl(
      GeneralizedDiceLossOptions options = GeneralizedDiceLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(GeneralizedDiceLoss);

namespace functional {

/// See DiceLoss.
at::Tensor dice_loss(const at::Tensor& preds, const at::Tensor& target,
                     const DiceLossOptions& options = {});

/// See GeneralizedDiceLoss.
at::Tensor generalized_dice_loss(
    const at::Tensor& preds, const at::Tensor& target,
    const GeneralizedDiceLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<DiceLossImpl, DiceLossOptions>;
extern template class internal::LossModule<GeneralizedDiceLossImpl,
                                           GeneralizedDiceLossOptions>;

}  // namespace tally::losses

namespace tally {
template <>
struct EnumNames<losses::DiceWeight> {
  static constexpr const char* kNames[] = {"square", "simple", "uniform"};
};
}  // namespace tally

extern template class torch::nn::Cloneable<tally::losses::DiceLossImpl>;
extern template class torch::nn::Cloneable<
    tally::losses::GeneralizedDiceLossImpl>;
