#pragma once

#include "tally/metrics/detection/states/overlap_sums.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The mean distance intersection over union (DIoU) of detected and annotated
/// boxes: the IoU with a penalty for the distance of their centers.
///
///     DIoU = IoU - distance^2 / diagonal^2
///
/// with the diagonal of the smallest enclosing box.
///
/// Pairs are chosen as by IntersectionOverUnion, by this overlap.
/// update(preds, target): the boxes and labels of N images, each a list of
/// ImageObjects or FlatImageObjects; boxes [n, 4] of any real dtype
/// (box_format), converted to double first. Scores are not needed.
/// Result: `diou`, 0-dim float64 in [-1, 1], NaN without pairs; with
/// class_metrics also `diou_per_class`, float64 [K], NaN for classes without
/// pairs, and `classes`, int64 [K]: the labels of target, ascending.
/// State, boxes without areas, and errors: as IntersectionOverUnion.
/// Differentiable in the boxes of preds and target: forward() returns values
/// with a graph. Which boxes are compared has no gradient.
/// Source: Zheng et al., AAAI 2020.
///
/// Example:
///     ImageObjects found{boxes, {}, labels}, annotated{boxes, {}, labels};
///     DistanceIntersectionOverUnion diou;
///     diou.update(std::vector<ImageObjects>{found},
///                 std::vector<ImageObjects>{annotated});
///     double mean = diou.compute()["diou"].item<double>();
class DistanceIntersectionOverUnion final
    : public MetricOf<DistanceIntersectionOverUnion,
                      OverlapSums<BoxOverlap::kDIoU>, Results> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "DistanceIntersectionOverUnion";
  static constexpr MetricSummary kSummary{
      "Mean distance intersection over union of boxes (DIoU).",
      "[-1, 1]",
      "",
      "diou",
      R"(IoU - \frac{d^2}{c^2})",
      "Zheng et al. 2020"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

extern template class MetricOf<DistanceIntersectionOverUnion,
                               OverlapSums<BoxOverlap::kDIoU>, Results>;

}  // namespace tally
