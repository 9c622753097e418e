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

/// Options of LVISAveragePrecision.
///
/// Example:
///     LVISAveragePrecision lvis(LVISOptions().rare_labels({12, 30}));
struct LVISOptions {
  /// What the numbers of boxes are.
  TORCH_ARG(BoxFormat, box_format) = BoxFormat::kXYXY;
  /// The unit of boxes and keypoints. With kNormalized annotations have an
  /// image_size, by which they become pixels before anything is computed.
  TORCH_ARG(BoxCoordinates, coordinates) = BoxCoordinates::kPixels;
  /// Boxes or masks.
  TORCH_ARG(ObjectShape, iou_type) = ObjectShape::kBbox;
  /// Overlaps from which a detection hits an object. Default: empty, which
  /// means COCO's.
  TORCH_ARG(std::vector<double>, iou_thresholds) = {};
  /// Recalls at which precision is read. Default: empty, which means COCO's.
  TORCH_ARG(std::vector<double>, rec_thresholds) = {};
  /// How many detections of an image count, of all classes.
  TORCH_ARG(int64_t, max_detections) = 300;
  /// The areas between small and medium, and between medium and large objects.
  /// Default: 1024, 9216.
  TORCH_ARG(std::vector<double>, area_bounds) = {1024, 9216};
  /// The classes of few images, of some, and of many.
  TORCH_ARG(std::vector<int64_t>, rare_labels) = {};
  TORCH_ARG(std::vector<int64_t>, common_labels) = {};
  TORCH_ARG(std::vector<int64_t>, frequent_labels) = {};
  /// Whether to return the values of each class as well.
  TORCH_ARG(bool, class_metrics) = false;

 public:
  void visit(OptionVisitor& v);
  void validate(const char* metric) const;

  internal::detection::MatchRules rules() const;
  std::vector<double> sigmas() const { return {}; }
};

}  // namespace tally
