#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/detection/box_overlaps.h"
#include "tally/metrics/detection/options/box_overlap.h"
#include "tally/metrics/options.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

using ::tally::BoxOverlap;

/// Options for BoxOverlapLoss.
struct BoxOverlapLossOptions : RankOptions<BoxOverlapLossOptions> {
  BoxOverlapLossOptions(BoxOverlap overlap = BoxOverlap::kGIoU)
      : overlap_(overlap) {}
  /// Default: kGIoU.
  TORCH_ARG(BoxOverlap, overlap);

 public:
  void visit(OptionVisitor& v) {
    v("overlap", overlap_, "IoU, GIoU, DIoU or CIoU.");
  }
};

/// 1 - the overlap of predicted boxes and their targets, the mean over the
/// pairs of all ranks.
///
/// forward(preds, target) takes this rank's boxes, [N, 4] of any floating
/// dtype: left, top, right and bottom, and as many targets; it computes in
/// float32 or wider regardless of autocast. N may differ between ranks and be
/// 0. Two numbers are sent, none in backward: a mean of the ranks' means is
/// another loss as soon as they have different numbers of boxes.
///
/// The result is one number, the same on every rank; 0, with zero gradients, if
/// no rank has boxes. A quotient whose divisor is 0, as the IoU of boxes
/// without areas, is 0, with zero gradients. Gradients: averaged over the
/// ranks, those of parameters equal those of one process with all boxes,
/// including second-order gradients. The weight of kCIoU's aspect ratios counts
/// as a constant, as in the paper.
///
/// Throws c10::ValueError for boxes of negative width or height, naming the
/// box, and other invalid arguments, while the other ranks throw SyncError
/// kPeerFailed. Rezatofighi et al., CVPR 2019; Zheng et al., AAAI 2020;
/// torchvision's generalized_box_iou_loss and its like, which add 1e-7 to
/// divisors.
///
/// Example:
///     losses::BoxOverlapLoss giou(losses::BoxOverlap::kGIoU);
///     giou->forward(model->forward(x), boxes).backward();
///     sync::average_gradients(model->parameters());
class BoxOverlapLossImpl
    : public internal::LossModule<BoxOverlapLossImpl, BoxOverlapLossOptions> {
 public:
  static constexpr const char* kName = "BoxOverlapLoss";
  static constexpr LossSummary kSummary{
      "1 - IoU, GIoU, DIoU or CIoU of pairs of boxes, over all ranks.",
      "preds, target",
      "",
      "giou loss, iou loss, diou loss, ciou loss",
      R"(1 - \frac{1}{N} \sum_n o(b_n, \hat b_n))",
      "Rezatofighi et al. 2019; Zheng et al. 2020"};

  explicit BoxOverlapLossImpl(
      BoxOverlapLossOptions options = BoxOverlapLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(BoxOverlapLoss);

namespace functional {

/// See BoxOverlapLoss.
at::Tensor box_overlap_loss(const at::Tensor& preds, const at::Tensor& target,
                            const BoxOverlapLossOptions& options = {});

using ::tally::box_overlaps;

}  // namespace functional
extern template class internal::LossModule<BoxOverlapLossImpl,
                                           BoxOverlapLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::BoxOverlapLossImpl>;
