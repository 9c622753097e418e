#pragma once

#include <cstdint>

#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/detection/options/box_coordinates.h"
#include "tally/metrics/detection/options/box_format.h"
#include "tally/metrics/detection/options/object_shape.h"
#include "tally/metrics/options.h"

namespace tally {
namespace internal::detection {

/// What detections are counted by.
struct CountRules {
  std::int64_t num_classes;
  BoxFormat format;
  BoxCoordinates coordinates;
  ObjectShape shape;
  double iou_threshold;
  double score_threshold;
};
/// c10::ValueError for options that are not as DetectionCountOptions says.
void check_count_rules(const char* metric, const CountRules& rules);

}  // namespace internal::detection

/// Options of all metrics over DetectedPairs, which share one state in a
/// collection if they agree in these.
template <class Self>
struct DetectionCountOptions {
  /// The number of classes, from 1 to 46339.
  template <class Count, RequireCount<Count> = 0>
  DetectionCountOptions(Count num_classes)
      : num_classes_(static_cast<std::int64_t>(num_classes)) {}
  explicit DetectionCountOptions(internal::Unset) : num_classes_(0) {}

  /// Labels are 0 to num_classes - 1.
  TALLY_INHERITED_ARG(Self, std::int64_t, num_classes);
  /// What the numbers of boxes are.
  TALLY_INHERITED_ARG(Self, BoxFormat, box_format) = BoxFormat::kXYXY;
  /// The unit of boxes. With kNormalized annotations have an image_size, by
  /// which boxes become pixels before anything is computed.
  TALLY_INHERITED_ARG(Self, BoxCoordinates,
                      coordinates) = BoxCoordinates::kPixels;
  /// What of objects is compared: boxes, or masks (masks or runs of
  /// ImageObjects). Not keypoints.
  TALLY_INHERITED_ARG(Self, ObjectShape, iou_type) = ObjectShape::kBbox;
  /// The overlap that a pair exceeds, from 0 to below 1. Default: 0.5.
  TALLY_INHERITED_ARG(Self, double, iou_threshold) = 0.5;
  /// The lowest score of the detections that count; any number, on the scale of
  /// the scores. Default: 0.3.
  TALLY_INHERITED_ARG(Self, double, score_threshold) = 0.3;

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_, OptionRole::kSize,
      internal::words::kNumClasses);
    v("box_format", box_format_, internal::words::kBoxFormat);
    v("coordinates", coordinates_, internal::detection::role_of(coordinates_),
      internal::words::kCoordinates);
    v.first<2>("iou_type", iou_type_, OptionRole::kState,
               "What is compared: boxes or masks.");
    v("iou_threshold", iou_threshold_, "IoU that a pair exceeds.");
    v("score_threshold", score_threshold_,
      "Detections with lower scores are ignored.");
  }
  void validate(const char* metric) const {
    internal::detection::check_count_rules(metric, rules());
  }
  internal::detection::CountRules rules() const {
    return {num_classes_, box_format_,    coordinates_,
            iou_type_,    iou_threshold_, score_threshold_};
  }
};

}  // namespace tally
