#pragma once

#include <torch/arg.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/detection/options/box_coordinates.h"
#include "tally/metrics/detection/options/box_format.h"
#include "tally/metrics/detection/options/match_rules.h"
#include "tally/metrics/detection/options/object_shape.h"
#include "tally/metrics/options.h"

namespace tally {

/// How PASCAL VOC's average precision is read from a curve.
enum class VOCInterpolation {
  kAllPoints,     ///< the area under the envelope, since 2010
  kElevenPoints,  ///< the mean at the recalls 0, 0.1, ... 1, in 2007
};
template <>
struct EnumNames<VOCInterpolation> {
  static constexpr const char* kNames[] = {"all_points", "eleven_points"};
};

/// Options of PascalVOCAveragePrecision.
///
/// Example:
///     PascalVOCAveragePrecision voc(
///         PascalVOCOptions().interpolation(VOCInterpolation::kElevenPoints));
struct PascalVOCOptions {
  /// What the numbers of boxes are. The right and bottom edges of kXYXY are
  /// pixels of the object, as in VOC's files.
  TORCH_ARG(BoxFormat, box_format) = BoxFormat::kXYXY;
  /// The unit of boxes and keypoints. With kNormalized annotations have an
  /// image_size, by which they become pixels before anything is computed.
  TORCH_ARG(BoxCoordinates, coordinates) = BoxCoordinates::kPixels;
  /// Overlaps that a hit exceeds, ascending. Default: 0.5.
  TORCH_ARG(std::vector<double>, iou_thresholds) = {0.5};
  TORCH_ARG(VOCInterpolation, interpolation) = VOCInterpolation::kAllPoints;
  /// Whether to return the values of each class as well.
  TORCH_ARG(bool, class_metrics) = false;

 public:
  void visit(OptionVisitor& v) {
    v("box_format", box_format_, internal::words::kBoxFormat);
    v("coordinates", coordinates_, internal::detection::role_of(coordinates_),
      internal::words::kCoordinates);
    v("iou_thresholds", iou_thresholds_,
      "IoU thresholds that a hit exceeds, ascending.");
    v("interpolation", interpolation_, OptionRole::kValue,
      "Area under the envelope, or its mean at eleven recalls.");
    v("class_metrics", class_metrics_, OptionRole::kValue,
      internal::words::kClassMetrics);
  }
  void validate(const char* metric) const;

  internal::detection::MatchRules rules() const;
  ObjectShape iou_type() const { return ObjectShape::kBbox; }
  std::vector<double> sigmas() const { return {}; }
};

}  // namespace tally
