#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/metrics/score_kind.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// The classes that LovaszSoftmaxLoss is the mean over.
enum class LovaszClasses {
  kPresent,  ///< those that occur in target
  kAll,
};

/// Options for LovaszSoftmaxLoss.
struct LovaszSoftmaxLossOptions : RankOptions<LovaszSoftmaxLossOptions> {
  /// kLogits (softmax is applied) or kProbabilities, which are used as they
  /// are.
  TORCH_ARG(ScoreKind, input) = ScoreKind::kLogits;
  TORCH_ARG(LovaszClasses, classes) = LovaszClasses::kPresent;
  /// The classes to choose from. Default: empty, which means all.
  TORCH_ARG(std::vector<std::int64_t>, only_classes) = {};
  /// Whether each image, an element of dimension 0, has a loss of its own; the
  /// result is the mean over the images of all ranks with a class to count.
  /// Otherwise all positions of all ranks are one image.
  TORCH_ARG(bool, per_image) = false;
  /// Positions with this target do not count.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("input", input_, tally::internal::words::kScores);
    v("classes", classes_, "Mean over the classes present, or over all.");
    v("only_classes", only_classes_, "Classes that count; []: all.");
    v("per_image", per_image_, tally::internal::words::kPerImage);
    v("ignore_index", ignore_index_, tally::internal::words::kIgnoredTargets);
  }
};

/// The mean over classes of the Lovasz extension of their Jaccard loss (1 -
/// IoU), with the errors |y - p| of their probabilities: as LovaszHingeLoss,
/// whose header has the formula, and what is said there of ties and gradients.
///
/// forward(preds, target) takes this rank's scores [N, C, ...], of any floating
/// dtype, computed in float32 or wider regardless of autocast, and integer
/// classes [N, ...]. N may differ between ranks and be 0.
///
/// The order of each class is that of the positions of all ranks, which are
/// gathered: 4 bytes for each position and class (8 for float64). Whether a
/// class is present is also said of all ranks. With per_image, images lie whole
/// on a rank, and two numbers are sent.
///
/// The result is one number, the same on every rank; 0, with zero gradients,
/// without any position that counts. Second-order gradients are exact for
/// probabilities on any number of ranks, and through the softmax of logits.
///
/// Throws c10::ValueError for invalid arguments, and for 2^31 positions or more
/// over all ranks, while the other ranks throw SyncError kPeerFailed. Berman et
/// al., arXiv 1705.08790; their lovasz_softmax, which takes probabilities.
/// kornia's of versions before 0.9 compares with the wrong class.
///
/// Example:
///     losses::LovaszSoftmaxLoss lovasz;
///     lovasz->forward(model->forward(x), target).backward();
///     sync::average_gradients(model->parameters());
class LovaszSoftmaxLossImpl
    : public internal::LossModule<LovaszSoftmaxLossImpl,
                                  LovaszSoftmaxLossOptions> {
 public:
  static constexpr const char* kName = "LovaszSoftmaxLoss";
  static constexpr LossSummary kSummary{
      "The Lovasz extension of the Jaccard loss of each class.",
      "preds, target",
      "",
      "lovasz softmax",
      R"(\frac{1}{C} \sum_c \bar \Delta_{J_c}(|y_c - p_c|))",
      "Berman, Triki and Blaschko 2018"};

  explicit LovaszSoftmaxLossImpl(
      LovaszSoftmaxLossOptions options = LovaszSoftmaxLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(LovaszSoftmaxLoss);

namespace functional {

/// See LovaszSoftmaxLoss.
at::Tensor lovasz_softmax_loss(const at::Tensor& preds,
                               const at::Tensor& target,
                               const LovaszSoftmaxLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<LovaszSoftmaxLossImpl,
                                           LovaszSoftmaxLossOptions>;

}  // namespace tally::losses

namespace tally {
template <>
struct EnumNames<losses::LovaszClasses> {
  static constexpr const char* kNames[] = {"present", "all"};
};
}  // namespace tally

extern template class torch::nn::Cloneable<
    tally::losses::LovaszSoftmaxLossImpl>;
