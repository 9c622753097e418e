#pragma once

#include "tally/metrics/detection/options/voc_options.h"
#include "tally/metrics/detection/states/matched_detections.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Mean average precision of detected boxes by the rules of PASCAL VOC, which
/// are not COCO's: a detection, in the order of scores, is held against the
/// object that it overlaps most, taken or not; it is a hit if the overlap
/// exceeds the threshold and the object is not taken, and a false positive
/// otherwise. Edges are pixels, so that widths are 1 more than the difference
/// of edges. Objects with `ignore` ("difficult") do not count, and neither do
/// detections held against them. There are no crowds, ranges of areas, or
/// limits on the number of detections.
///
///     kAllPoints:    sum of (recall - recall before) * the best precision at
///                    that recall or a higher one
///     kElevenPoints: mean of that precision at recalls of at least 0, 0.1, ...
///                    1 (as NumPy's doubles: 3 of 10 objects miss 0.3)
///
/// update(preds, target, image_ids = {}): see MeanAveragePrecision; of
/// annotations, `ignore` is used instead of iscrowd and area.
/// Result: `map`, the mean over classes with objects and over thresholds, and
/// with several thresholds map_50 and so on, of each; 0-dim float64 in [0, 1],
/// NaN without objects. With class_metrics also map_per_class, float64
/// [classes], NaN for those without objects, and classes, int64.
/// State, order of equal scores, repeated images and errors: as
/// MeanAveragePrecision.
/// Not differentiable. Source: Everingham et al. 2010; voc_eval.py of
/// py-faster-rcnn, with a stable order of equal scores.
///
/// Example:
///     ImageObjects found{boxes, scores, labels}, annotated{boxes, {}, labels};
///     PascalVOCAveragePrecision voc;
///     voc.update(std::vector<ImageObjects>{found},
///                std::vector<ImageObjects>{annotated});
///     double value = voc.compute()["map"].item<double>();
class PascalVOCAveragePrecision final
    : public MetricOf<PascalVOCAveragePrecision, MatchedDetections, Results,
                      PascalVOCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "PascalVOCAveragePrecision";
  static constexpr MetricSummary kSummary{
      "Mean average precision of boxes by the rules of PASCAL VOC.",
      "[0, 1]",
      "",
      "voc map, pascal voc ap, voc ap",
      R"(\frac{1}{K} \sum_k \int_0^1 P_k\ dR)",
      "Everingham et al. 2010"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

extern template class MetricOf<PascalVOCAveragePrecision, MatchedDetections,
                               Results, PascalVOCOptions>;

}  // namespace tally
