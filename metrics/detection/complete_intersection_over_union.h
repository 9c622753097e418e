#pragma once

#include "tally/metrics/detection/states/overlap_sums.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The mean complete intersection over union (CIoU) of detected and annotated
/// boxes: the DIoU with a penalty for different aspect ratios.
///
///     v = 4 / pi^2 (atan(w_target / h_target) - atan(w_preds / h_preds))^2
///     CIoU = DIoU - v^2 / (1 - IoU + v)
///
/// The weight v / (1 - IoU + v) of v counts as a constant in gradients.
///
/// Pairs are chosen as by IntersectionOverUnion, by this overlap.
/// update(preds, target): the boxes and labels of N images, each a list of
/// ImageObjects or FlatImageObjects; boxes [n, 4] of any real dtype
/// (box_format), converted to double first. Scores are not needed.
/// Result: `ciou`, 0-dim float64 in [-1.5, 1], NaN without pairs; with
/// class_metrics also `ciou_per_class`, float64 [K], NaN for classes without
/// pairs, and `classes`, int64 [K]: the labels of target, ascending.
/// State, boxes without areas, and errors: as IntersectionOverUnion.
/// Differentiable in the boxes of preds and target: forward() returns values
/// with a graph. Which boxes are compared has no gradient.
/// Source: Zheng et al., AAAI 2020.
///
/// Example:
///     ImageObjects found{boxes, {}, labels}, annotated{boxes, {}, labels};
///     CompleteIntersectionOverUnion ciou;
///     ciou.update(std::vector<ImageObjects>{found},
///                 std::vector<ImageObjects>{annotated});
///     double mean = ciou.compute()["ciou"].item<double>();
class CompleteIntersectionOverUnion final
    : public MetricOf<CompleteIntersectionOverUnion,
                      OverlapSums<BoxOverlap::kCIoU>, Results> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CompleteIntersectionOverUnion";
  static constexpr MetricSummary kSummary{
      "Mean complete intersection over union of boxes (CIoU).",
      "[-1.5, 1]",
      "",
      "ciou",
      R"(IoU - \frac{d^2}{c^2} - \alpha v)",
      "Zheng et al. 2020"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

extern template class MetricOf<CompleteIntersectionOverUnion,
                               OverlapSums<BoxOverlap::kCIoU>, Results>;

}  // namespace tally
