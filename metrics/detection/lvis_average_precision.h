#pragma once

#include "tally/metrics/detection/options/lvis_options.h"
#include "tally/metrics/detection/states/matched_detections.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Mean average precision and recall of object detection by the rules of LVIS,
/// whose images are annotated for some classes each. As MeanAveragePrecision,
/// except that
/// - the best max_detections of an image count, of all classes together;
/// - of these, detections of classes that are neither annotated in the image
///   nor known to be absent from it (negative_labels) are ignored;
/// - detections without a match are ignored if the image is not annotated
///   exhaustively for their class (inexhaustive_labels);
/// - boxes and masks without area are ignored;
/// - there are no crowds; annotations with `ignore` are ignored.
///
/// update(preds, target, image_ids = {}): see MeanAveragePrecision; lists of
/// ImageObjects, not joined ones.
/// Result: map, map_50, map_75, map_small, map_medium, map_large; map_rare,
/// map_common and map_frequent, of the classes that options list;
/// mar_300 (by max_detections), mar_small, mar_medium and mar_large: 0-dim
/// float64, in [0, 1] or -1. With class_metrics also map_per_class and classes.
/// State, order of equal scores, repeated images and errors: as
/// MeanAveragePrecision.
/// Not differentiable. Source: Gupta et al. 2019; lvis 0.5.3.
///
/// Example:
///     ImageObjects found{boxes, scores, labels}, annotated{boxes, {}, labels};
///     annotated.negative_labels = indexes;
///     LVISAveragePrecision lvis;
///     lvis.update(std::vector<ImageObjects>{found},
///                 std::vector<ImageObjects>{annotated});
///     double value = lvis.compute()["map"].item<double>();
class LVISAveragePrecision final
    : public MetricOf<LVISAveragePrecision, MatchedDetections, Results,
                      LVISOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "LVISAveragePrecision";
  static constexpr MetricSummary kSummary{
      "Mean average precision of detected objects by the rules of LVIS.",
      "[0, 1]; -1 without objects",
      "",
      "lvis ap, lvis",
      R"(\frac{1}{|T| |K|} \sum_{t, k} AP_{t, k})",
      "Gupta, Dollar and Girshick 2019"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

extern template class MetricOf<LVISAveragePrecision, MatchedDetections, Results,
                               LVISOptions>;

}  // namespace tally
