#pragma once

#include "tally/metrics/detection/states/overlap_sums.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The mean generalized intersection over union (GIoU) of detected and
/// annotated boxes: unlike the IoU, it also tells boxes that do not overlap
/// apart.
///
///     GIoU = IoU - (enclosing - union) / enclosing
///
/// with the area of the smallest enclosing box.
///
/// Pairs are chosen as by IntersectionOverUnion, by this overlap.
/// update(preds, target): the boxes and labels of N images, each a list of
/// ImageObjects or FlatImageObjects; boxes [n, 4] of any real dtype
/// (box_format), converted to double first. Scores are not needed.
/// Result: `giou`, 0-dim float64 in [-1, 1], NaN without pairs; with
/// class_metrics also `giou_per_class`, float64 [K], NaN for classes without
/// pairs, and `classes`, int64 [K]: the labels of target, ascending.
/// State, boxes without areas, and errors: as IntersectionOverUnion.
/// Differentiable in the boxes of preds and target: forward() returns values
/// with a graph. Which boxes are compared has no gradient.
/// Source: Rezatofighi et al., CVPR 2019.
///
/// Example:
///     ImageObjects found{boxes, {}, labels}, annotated{boxes, {}, labels};
///     GeneralizedIntersectionOverUnion giou;
///     giou.update(std::vector<ImageObjects>{found},
///                 std::vector<ImageObjects>{annotated});
///     double mean = giou.compute()["giou"].item<double>();
class GeneralizedIntersectionOverUnion final
    : public MetricOf<GeneralizedIntersectionOverUnion,
                      OverlapSums<BoxOverlap::kGIoU>, Results> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "GeneralizedIntersectionOverUnion";
  static constexpr MetricSummary kSummary{
      "Mean generalized intersection over union of boxes (GIoU).",
      "[-1, 1]",
      "",
      "giou",
      R"(IoU - \frac{|C \setminus (A \cup B)|}{|C|})",
      "Rezatofighi et al. 2019"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

extern template class MetricOf<GeneralizedIntersectionOverUnion,
                               OverlapSums<BoxOverlap::kGIoU>, Results>;

}  // namespace tally
