#include "tally/metrics/detection/options/lvis_options.h"

#include <c10/util/Exception.h>

#include "tally/metrics/detection/options/option_checks.h"

namespace tally {

namespace detection = internal::detection;

void LVISOptions::visit(OptionVisitor& v) {
  v("box_format", box_format_);
  v("iou_type", iou_type_);
  v("iou_thresholds", iou_thresholds_);
  v("rec_thresholds", rec_thresholds_, OptionRole::kValue);
  v("max_detections", max_detections_);
  v("area_bounds", area_bounds_);
  v("rare_labels", rare_labels_, OptionRole::kValue);
  v("common_labels", common_labels_, OptionRole::kValue);
  v("frequent_labels", frequent_labels_, OptionRole::kValue);
  v("class_metrics", class_metrics_, OptionRole::kValue);
}

void LVISOptions::validate(const char* metric) const {
  detection::check_fractions(metric, "iou_thresholds", iou_thresholds_);
  detection::check_fractions(metric, "rec_thresholds", rec_thresholds_);
  detection::check_areas(metric, "area_bounds", area_bounds_);
  TORCH_CHECK_VALUE(max_detections_ >= 1, metric,
                    ": option 'max_detections': expected 1 or more, got ",
                    max_detections_);
  TORCH_CHECK_VALUE(iou_type_ != ObjectShape::kKeypoints, metric,
                    ": option 'iou_type': expected bbox or segm, got "
                    "keypoints");
}

detection::MatchRules LVISOptions::rules() const {
  detection::MatchRules rules;
  rules.thresholds = detection::overlaps_or_coco(iou_thresholds_);
  rules.areas = {{0, detection::kMostArea},
                 {0, area_bounds_[0]},
                 {area_bounds_[0], area_bounds_[1]},
                 {area_bounds_[1], detection::kMostArea}};
  rules.max_detections = detection::MatchRow::kRanks - 1;
  rules.max_per_image = max_detections_;
  rules.kind = detection::MatchRules::Kind::kLvis;
  return rules;
}

}  // namespace tally
