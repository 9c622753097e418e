#pragma once

#include <torch/arg.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/detection/options/box_coordinates.h"
#include "tally/metrics/detection/options/box_format.h"
#include "tally/metrics/detection/options/match_rules.h"
#include "tally/metrics/detection/options/object_shape.h"
#include "tally/metrics/options.h"

namespace tally {

/// How the precisions of the classes become one.
enum class DetectionAverage {
  kMacro,  ///< a curve for each class, and the mean over classes
  kMicro,  ///< one curve of the detections of all classes
};
template <>
struct EnumNames<DetectionAverage> {
  static constexpr const char* kNames[] = {"macro", "micro"};
};

/// Options of MeanAveragePrecision and MeanAverageRecall, which share one state
/// in a collection if they agree in all but rec_thresholds, average,
/// class_metrics and extended_summary.
///
/// Example:
///     MeanAveragePrecision map(
///         MeanAveragePrecisionOptions().box_format(BoxFormat::kXYWH));
struct MeanAveragePrecisionOptions {
  /// What the numbers of boxes are.
  TORCH_ARG(BoxFormat, box_format) = BoxFormat::kXYXY;
  /// The unit of boxes and keypoints. With kNormalized annotations have an
  /// image_size, by which they become pixels before anything is computed.
  TORCH_ARG(BoxCoordinates, coordinates) = BoxCoordinates::kPixels;
  /// What of objects is compared: boxes, masks (masks or runs of ImageObjects)
  /// or keypoints.
  TORCH_ARG(ObjectShape, iou_type) = ObjectShape::kBbox;
  /// Overlaps at which a detection hits an object. Default: empty, which
  /// means COCO's 0.5, 0.55, ... 0.95, as the doubles that NumPy makes.
  TORCH_ARG(std::vector<double>, iou_thresholds) = {};
  /// Recalls at which precision is read. Default: empty, which means COCO's 0,
  /// 0.01, ... 1, as the doubles that NumPy makes.
  TORCH_ARG(std::vector<double>, rec_thresholds) = {};
  /// Numbers of detections of an image and class that count, those of the
  /// highest scores, in ascending order. Default: empty, which means 1, 10,
  /// 100; of keypoints 20.
  TORCH_ARG(std::vector<int64_t>, max_detection_thresholds) = {};
  /// The areas between small and medium, and between medium and large objects.
  /// Default: 1024, 9216.
  TORCH_ARG(std::vector<double>, area_bounds) = {1024, 9216};
  /// How much each keypoint varies, relative to the square root of the area.
  /// Default: empty, which means COCO's 17 keypoints of a person.
  TORCH_ARG(std::vector<double>, oks_sigmas) = {};
  /// Match without regard to classes, as for proposals:
  /// max_detection_thresholds are then per image.
  TORCH_ARG(bool, class_agnostic) = false;
  /// Default: kMacro.
  TORCH_ARG(DetectionAverage, average) = DetectionAverage::kMacro;
  /// Whether to return the values of each class as well.
  TORCH_ARG(bool, class_metrics) = false;
  /// Whether to return the arrays of precision, recall and scores as well.
  TORCH_ARG(bool, extended_summary) = false;

 public:
  void visit(OptionVisitor& v);
  void validate(const char* metric) const;

  /// iou_thresholds, or COCO's.
  std::vector<double> overlaps() const;
  /// rec_thresholds, or COCO's.
  std::vector<double> recalls() const;
  /// max_detection_thresholds, or COCO's.
  std::vector<std::int64_t> depths() const;
  /// oks_sigmas, or COCO's, of keypoints; empty otherwise.
  std::vector<double> sigmas() const;
  internal::detection::MatchRules rules() const;
};

}  // namespace tally
