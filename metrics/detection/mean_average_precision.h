#pragma once

#include "tally/metrics/detection/options/detection_options.h"
#include "tally/metrics/detection/states/matched_detections.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Mean average precision and recall of object detection, as COCO's own
/// evaluation defines them.
///
/// In each image and class, detections in the order of their scores each take
/// the object that they overlap most, if the overlap reaches a threshold and no
/// detection before has taken it. The overlap is the intersection over union of
/// boxes or masks, or the similarity of keypoints (OKS; iou_type). With tp and
/// fp the detections with and without an object down to a score,
///
///     precision = tp / (tp + fp)    recall = tp / objects
///     average precision = mean over 101 recalls of the best precision at
///                         that recall or a higher one
///
/// Crowds, and objects outside of a range of areas, are ignored, and so are
/// detections that hit them, and detections outside of the range that hit
/// nothing; a crowd takes any number, by the fraction of the detection that it
/// covers. Both bounds belong to a range.
///
/// update(preds, target, image_ids = {}):
/// the detections and the annotations of N images, each a list of ImageObjects
/// or FlatImageObjects: boxes (masks, keypoints) with scores and labels, and
/// those with labels, iscrowd and area; and int ids of the images, or texts
/// (see Keys). The area of a detection is that of its box or mask; an
/// annotation's is given, or the same. An annotation without visible keypoints
/// is ignored like a crowd, but takes one detection. Result: 0-dim float64,
/// each in [0, 1], or -1 without objects to find:
///     map, map_50, map_75         means over thresholds, at 0.5, at 0.75
///     map_small, _medium, _large  of objects by area (area_bounds)
///     mar_1, mar_10, mar_100      mean recall of so many best detections
///     mar_small, _medium, _large  of objects by area
/// of keypoints mar_20, mar_at_50 and mar_at_75, and none of small objects;
/// with class_metrics also map_per_class and mar_100_per_class, float64 [K],
/// and classes, int64 [K]: those that occur, ascending; with extended_summary
/// precision [T, R, K, A, M], recall [T, K, A, M] and scores [T, R, K, A, M] by
/// thresholds, recalls, classes, areas (all, small, medium, large) and
/// max_detection_thresholds. map_50 and map_75 are -1 unless 0.5 and 0.75 are
/// among iou_thresholds.
/// These arrays equal pycocotools' bit for bit, except that an annotation with
/// the id 0 counts like any other.
/// State: a row for each detection that max_detection_thresholds leave, counts
/// of objects by image and class, and the ids of images; matching is done in
/// update(), so that a sync moves no boxes. Detections of equal score in
/// different images are ordered by the ids of these, as in pycocotools; without
/// ids by what they hit. Either is the same for any split of the images. Ids
/// are given in every update or in none. An image that comes twice with an id,
/// as from a sampler that pads, counts once; if its objects differ, compute()
/// throws c10::ValueError.
/// Boxes may be of any real dtype; they are converted to double first.
/// Errors: c10::ValueError for preds and target of different numbers of images
/// and, naming the image and the box, for boxes that are not finite or of
/// negative width or height, NaN among scores or areas, labels below 0, masks
/// of different sizes in an image, and tensors of other sizes; c10::TypeError
/// for missing tensors and other dtypes.
/// Not differentiable. Source: Lin et al. 2014; pycocotools 2.0.11.
///
/// Example:
///     ImageObjects found, annotated;
///     found.boxes = boxes;
///     found.scores = scores;
///     found.labels = annotated.labels = labels;
///     annotated.boxes = boxes;
///     MeanAveragePrecision map;
///     map.update(std::vector<ImageObjects>{found},
///                std::vector<ImageObjects>{annotated});
///     double value = map.compute()["map"].item<double>();
class MeanAveragePrecision final
    : public MetricOf<MeanAveragePrecision, MatchedDetections, Results,
                      MeanAveragePrecisionOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanAveragePrecision";
  static constexpr MetricSummary kSummary{
      "Mean average precision and recall of detected objects, as COCO's.",
      "[0, 1]; -1 without objects",
      "",
      "map, coco map, mean average precision, ap50, ap75, pycocotools, "
      "cocoeval",
      R"(\frac{1}{|T| |K|} \sum_{t, k} AP_{t, k})",
      "Lin et al. 2014"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

extern template class MetricOf<MeanAveragePrecision, MatchedDetections, Results,
                               MeanAveragePrecisionOptions>;

}  // namespace tally
