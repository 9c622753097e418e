#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for LovaszHingeLoss.
struct LovaszHingeLossOptions : RankOptions<LovaszHingeLossOptions> {
  /// Whether each image, an element of dimension 0, has a loss of its own; the
  /// result is the mean over the images of all ranks that have a position that
  /// counts. Otherwise all positions of all ranks are one image.
  TORCH_ARG(bool, per_image) = false;
  /// Positions with this target do not count.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("per_image", per_image_, tally::internal::words::kPerImage);
    v("ignore_index", ignore_index_, tally::internal::words::kIgnoredTargets);
  }
};

/// The Lovasz extension of the binary Jaccard loss, with hinge errors.
///
///   e_i = max(0, 1 - x_i (2 y_i - 1)),
///   loss = sum_k e_(k) (J_k - J_{k-1})
/// with errors in descending order, and J_k the Jaccard loss (1 - IoU) if the
/// first k positions were predicted wrongly and the others correctly.
///
/// forward(preds, target) takes this rank's logits [N, ...], of any floating
/// dtype, computed in float32 or wider regardless of autocast, and integer or
/// bool labels of the same size. N may differ between ranks and be 0.
///
/// The order is that of the positions of all ranks: those with an error above 0
/// are gathered, in 4 bytes each (8 for float64), and the number of positives
/// is that of all ranks. With per_image, images lie whole on a rank, and two
/// numbers are sent. Among equal errors positives come first, and negatives
/// share their derivative equally, so that gradients depend neither on the
/// order of rows nor on their distribution.
///
/// The result is one number, the same on every rank; 0, with zero gradients,
/// without any position that counts. Gradients: averaged over the ranks, those
/// of parameters equal those of one process with all rows, including
/// second-order ones (the loss is piecewise linear); no communication in
/// backward.
///
/// Throws c10::ValueError for invalid arguments, and for 2^31 positions or more
/// over all ranks, while the other ranks throw SyncError kPeerFailed. Berman et
/// al., arXiv 1705.08790; their lovasz_hinge, whose differences of J lose half
/// of their digits at 1e5 positions.
///
/// Example:
///     losses::LovaszHingeLoss lovasz;
///     const at::Tensor logits = model->forward(x).select(1, 0);
///     lovasz->forward(logits, target.eq(1)).backward();
///     sync::average_gradients(model->parameters());
class LovaszHingeLossImpl
    : public internal::LossModule<LovaszHingeLossImpl, LovaszHingeLossOptions> {
 public:
  static constexpr const char* kName = "LovaszHingeLoss";
  static constexpr LossSummary kSummary{
      "Lovasz extension of the binary Jaccard loss, with hinge errors.",
      "preds, target",
      "",
      "lovasz hinge",
      R"(\bar \Delta_J(\max(0, 1 - m)))",
      "Berman, Triki and Blaschko 2018"};

  explicit LovaszHingeLossImpl(
      LovaszHingeLossOptions options = LovaszHingeLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(LovaszHingeLoss);

namespace functional {

/// See LovaszHingeLoss.
at::Tensor lovasz_hinge_loss(const at::Tensor& preds, const at::Tensor& target,
                             const LovaszHingeLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<LovaszHingeLossImpl,
                                           LovaszHingeLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::LovaszHingeLossImpl>;
