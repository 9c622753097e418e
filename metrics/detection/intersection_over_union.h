#pragma once

#include "tally/metrics/detection/states/overlap_sums.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The mean intersection over union (IoU) of detected and annotated boxes.
///
///     IoU = intersection / union
///
/// By default, the boxes of an image are matched one to one within each label,
/// so that the sum of overlaps is largest, and the mean is over these pairs of
/// all images; `pairs` selects pairs in order, or all pairs. Boxes without a
/// partner do not count.
/// update(preds, target): the boxes and labels of N images, each a list of
/// ImageObjects or FlatImageObjects; boxes [n, 4] of any real dtype
/// (box_format), converted to double first. Scores are not needed.
/// Result: `iou`, 0-dim float64 in [0, 1], NaN without pairs; with
/// class_metrics also `iou_per_class`, float64 [K], NaN for classes without
/// pairs, and `classes`, int64 [K]: the labels of target, ascending.
/// State: for each label of target the sum of overlaps in float64 and the
/// number of pairs, merged by addition; pairs belong to the label of their
/// annotation. Its size does not depend on the number of images.
/// A quotient whose divisor is 0, as for two boxes without areas, is 0, with
/// zero gradients.
/// Errors: c10::ValueError for different numbers of images, with
/// BoxPairs::kPaired also of boxes in an image, and, naming image and box, for
/// boxes that are not finite or of negative width or height and for labels
/// below 0; c10::TypeError for missing or wrong tensors.
/// Differentiable in the boxes of preds and target: forward() returns values
/// with a graph. Which boxes are compared has no gradient.
/// Source: torchvision's box_iou.
///
/// Example:
///     ImageObjects found{boxes, {}, labels}, annotated{boxes, {}, labels};
///     IntersectionOverUnion iou;
///     iou.update(std::vector<ImageObjects>{found},
///                std::vector<ImageObjects>{annotated});
///     double mean = iou.compute()["iou"].item<double>();
class IntersectionOverUnion final
    : public MetricOf<IntersectionOverUnion, OverlapSums<BoxOverlap::kIoU>,
                      Results> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "IntersectionOverUnion";
  static constexpr MetricSummary kSummary{
      "Mean intersection over union of boxes (IoU).", "[0, 1]", "",
      "iou, box iou, intersection over union",
      R"(\frac{|A \cap B|}{|A \cup B|})"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

extern template class MetricOf<IntersectionOverUnion,
                               OverlapSums<BoxOverlap::kIoU>, Results>;

}  // namespace tally
