#pragma once

#include "tally/metrics/detection/options/detection_options.h"
#include "tally/metrics/detection/states/matched_detections.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Mean average recall of object detection: the fraction of objects that the
/// best detections of an image hit, averaged over thresholds of the overlap and
/// over classes. The number that COCO's tools call AR: with
/// max_detection_thresholds({100}) AR@100, with class_agnostic(true) that of
/// proposals.
///
/// update(preds, target, image_ids = {}): see MeanAveragePrecision, whose state
/// it shares in a collection if options are the same.
/// Result: 0-dim float64 in [0, 1], at the last of max_detection_thresholds and
/// for objects of all areas; -1 without objects.
/// State and errors: as MeanAveragePrecision.
/// Not differentiable. Source: Hosang et al. 2016; pycocotools 2.0.11.
///
/// Example:
///     ImageObjects found{boxes, scores, labels}, annotated{boxes, {}, labels};
///     MeanAverageRecall recall(
///         MeanAveragePrecisionOptions().class_agnostic(true));
///     recall.update(std::vector<ImageObjects>{found},
///                   std::vector<ImageObjects>{annotated});
///     double value = recall.compute().item<double>();
class MeanAverageRecall final
    : public MetricOf<MeanAverageRecall, MatchedDetections, at::Tensor,
                      MeanAveragePrecisionOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanAverageRecall";
  static constexpr MetricSummary kSummary{
      "Mean recall of detected objects over overlaps and classes.",
      "[0, 1]; -1 without objects",
      "",
      "mar, average recall, ar",
      R"(\frac{1}{|T| |K|} \sum_{t, k} R_{t, k})",
      "Hosang et al. 2015"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MeanAverageRecall, MatchedDetections, at::Tensor,
                               MeanAveragePrecisionOptions>;

}  // namespace tally
