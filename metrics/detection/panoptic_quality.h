#pragma once

#include "tally/metrics/detection/states/panoptic_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Panoptic quality (PQ): how well a segmentation finds objects (things) and
/// regions (stuffs), as panopticapi evaluates it.
///
///     PQ = sum of IoU of matches / (TP + FP / 2 + FN / 2) = SQ * RQ
///     SQ = sum of IoU of matches / TP    RQ = TP / (TP + FP / 2 + FN / 2)
///
/// for each category, then averaged over the categories that have any of TP, FP
/// and FN. A predicted and an annotated segment of an image and category match
/// if their IoU exceeds 0.5, where pixels of the prediction without annotation
/// (void) do not count. An annotated segment without match is a FN; a predicted
/// one a FP, unless more than half of it is void or crowd of its category.
/// Crowds match nothing.
///
/// update(preds, target, crowd = {}): int [N, ..., 2] of the same shape, the
/// category and the instance id of each pixel (or point) of N images, and which
/// pixels of target belong to crowds, int or bool [N, ...]. Instance ids of
/// stuffs are ignored. Pixels of target with other categories are void.
/// Result: `pq`, with return_sq_and_rq also `sq` and `rq`: 0-dim float64 in
/// [0, 1], NaN without segments. With return_per_class they are [C], NaN for
/// categories without segments, and there is `classes`, int64 [C]: things, then
/// stuffs, each ascending.
/// State: for each category two sums in float64 and four counts, merged by
/// addition. Matching is decided in integers.
/// Errors: c10::ValueError for other or different shapes, and for unknown
/// categories in preds unless allow_unknown_preds_category; c10::TypeError for
/// inputs that are not integers.
/// Not differentiable.
/// Source: Kirillov et al., CVPR 2019; panopticapi, which takes only the last
/// crowd of a category into account.
///
/// Example:
///     PanopticQuality quality({/*things=*/{0, 1}, /*stuffs=*/{6, 7}});
///     quality.update(at::zeros({1, 8, 8, 2}, at::kLong),
///                    at::zeros({1, 8, 8, 2}, at::kLong));
///     double pq = quality.compute()["pq"].item<double>();
class PanopticQuality final
    : public MetricOf<PanopticQuality, PanopticCounts, Results> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "PanopticQuality";
  static constexpr MetricSummary kSummary{
      "Panoptic quality of things and stuff, as panopticapi's (PQ).",
      "[0, 1]",
      "things=[0, 1], stuffs=[2]",
      "pq, panoptic",
      R"(\frac{\sum_{(p, g) \in TP} IoU(p, g)}{TP + FP / 2 + FN / 2})",
      "Kirillov et al. 2019"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

extern template class MetricOf<PanopticQuality, PanopticCounts, Results>;

}  // namespace tally
