#pragma once

#include "tally/metrics/detection/states/panoptic_counts.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Modified panoptic quality (PQ dagger): PanopticQuality, except that regions
/// need not overlap by half.
///
///     PQ = sum of IoU / annotated segments    (stuffs)
///
/// where the sum is over all pairs of a predicted and an annotated segment of
/// an image and category that overlap. Things are as in PanopticQuality.
/// update(preds, target, crowd = {}): see PanopticQuality, whose state it
/// shares in a collection if options are the same. Result: as PanopticQuality;
/// for stuffs `sq` is `pq`, and `rq` is 1. Stuffs that are not annotated do not
/// count, also where they are predicted. State and errors: as PanopticQuality.
/// Not differentiable. Source: Porzi et al., CVPR 2019.
///
/// Example:
///     ModifiedPanopticQuality quality({/*things=*/{0, 1}, /*stuffs=*/{6, 7}});
///     quality.update(at::zeros({1, 8, 8, 2}, at::kLong),
///                    at::zeros({1, 8, 8, 2}, at::kLong));
///     double pq = quality.compute()["pq"].item<double>();
class ModifiedPanopticQuality final
    : public MetricOf<ModifiedPanopticQuality, PanopticCounts, Results> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ModifiedPanopticQuality";
  static constexpr MetricSummary kSummary{
      "Panoptic quality in which stuff needs no overlap of half.",
      "[0, 1]",
      "things=[0, 1], stuffs=[2]",
      "modified pq",
      R"(\frac{\sum_{(p, g)} IoU(p, g)}{|G|})",
      "Porzi et al. 2019"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

extern template class MetricOf<ModifiedPanopticQuality, PanopticCounts,
                               Results>;

}  // namespace tally
