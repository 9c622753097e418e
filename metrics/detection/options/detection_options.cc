#include "tally/metrics/detection/options/detection_options.h"

#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/detection/options/box_overlap_options.h"
#include "tally/metrics/detection/options/count_options.h"
#include "tally/metrics/detection/options/lvis_options.h"
#include "tally/metrics/detection/options/option_checks.h"
#include "tally/metrics/detection/options/panoptic_options.h"
#include "tally/metrics/detection/options/voc_options.h"

namespace tally {

namespace detection = internal::detection;

void MeanAveragePrecisionOptions::visit(OptionVisitor& v) {
  v("box_format", box_format_, internal::words::kBoxFormat);
  v("coordinates", coordinates_, internal::detection::role_of(coordinates_),
    internal::words::kCoordinates);
  v("iou_type", iou_type_, internal::words::kIouType);
  v("iou_thresholds", iou_thresholds_, internal::words::kIouThresholds);
  v("rec_thresholds", rec_thresholds_, OptionRole::kValue,
    internal::words::kRecThresholds);
  v("max_detection_thresholds", max_detection_thresholds_,
    "Maximum numbers of detections per image and class, ascending.");
  v("area_bounds", area_bounds_, internal::words::kAreaBounds);
  v("oks_sigmas", oks_sigmas_,
    "How much each keypoint varies; []: those of a person.");
  v("class_agnostic", class_agnostic_,
    "Match objects without regard to classes.");
  v("average", average_, OptionRole::kValue,
    "A mean over classes, or the objects of all classes together.");
  v("class_metrics", class_metrics_, OptionRole::kValue,
    internal::words::kClassMetrics);
  v("extended_summary", extended_summary_, OptionRole::kValue,
    "Whether to return the arrays of all curves as well.");
}

void MeanAveragePrecisionOptions::validate(const char* metric) const {
  detection::check_fractions(metric, "iou_thresholds", iou_thresholds_);
  detection::check_fractions(metric, "rec_thresholds", rec_thresholds_);
  const std::vector<std::int64_t> most = depths();
  TORCH_CHECK_VALUE(
      most.front() >= 1 &&
          most.back() < internal::detection::MatchRow::kRanks &&
          std::adjacent_find(most.begin(), most.end(),
                             std::greater_equal<std::int64_t>()) == most.end(),
      metric,
      ": option 'max_detection_thresholds': expected ascending numbers ",
      "of 1 or more, got ", c10::ArrayRef<std::int64_t>(most));
  detection::check_areas(metric, "area_bounds", area_bounds_);
  const bool are_positive = std::all_of(oks_sigmas_.begin(), oks_sigmas_.end(),
                                        [](double sigma) { return sigma > 0; });
  TORCH_CHECK_VALUE(are_positive, metric, ": option 'oks_sigmas': expected ",
                    "numbers above 0, got ",
                    c10::ArrayRef<double>(oks_sigmas_));
}

std::vector<double> MeanAveragePrecisionOptions::overlaps() const {
  return detection::overlaps_or_coco(iou_thresholds_);
}

std::vector<double> MeanAveragePrecisionOptions::recalls() const {
  return detection::recalls_or_coco(rec_thresholds_);
}

std::vector<std::int64_t> MeanAveragePrecisionOptions::depths() const {
  if (!max_detection_thresholds_.empty()) return max_detection_thresholds_;
  if (iou_type_ == ObjectShape::kKeypoints) return {20};
  return {1, 10, 100};
}

std::vector<double> MeanAveragePrecisionOptions::sigmas() const {
  if (iou_type_ != ObjectShape::kKeypoints) return {};
  if (!oks_sigmas_.empty()) return oks_sigmas_;
  std::vector<double> sigmas = {.26, .25, .25,  .35,  .35, .79, .79, .72, .72,
                                .62, .62, 1.07, 1.07, .87, .87, .89, .89};
  for (double& sigma : sigmas) sigma /= 10.0;
  return sigmas;
}

internal::detection::MatchRules MeanAveragePrecisionOptions::rules() const {
  internal::detection::MatchRules rules;
  rules.thresholds = overlaps();
  rules.areas = {{0, detection::kMostArea}};
  // There are no keypoints of small objects.
  if (iou_type_ != ObjectShape::kKeypoints) {
    rules.areas.push_back({0, area_bounds_[0]});
  }
  rules.areas.push_back({area_bounds_[0], area_bounds_[1]});
  rules.areas.push_back({area_bounds_[1], detection::kMostArea});
  rules.max_detections = depths().back();
  rules.class_agnostic = class_agnostic_;
  return rules;
}

void LVISOptions::visit(OptionVisitor& v) {
  v("box_format", box_format_, internal::words::kBoxFormat);
  v("coordinates", coordinates_, internal::detection::role_of(coordinates_),
    internal::words::kCoordinates);
  v("iou_type", iou_type_, internal::words::kIouType);
  v("iou_thresholds", iou_thresholds_, internal::words::kIouThresholds);
  v("rec_thresholds", rec_thresholds_, OptionRole::kValue,
    internal::words::kRecThresholds);
  v("max_detections", max_detections_,
    "Maximum number of detections per image.");
  v("area_bounds", area_bounds_, internal::words::kAreaBounds);
  v("rare_labels", rare_labels_, OptionRole::kValue,
    "Classes that occur in few images.");
  v("common_labels", common_labels_, OptionRole::kValue,
    "Classes that occur in an average number of images.");
  v("frequent_labels", frequent_labels_, OptionRole::kValue,
    "Classes that occur in many images.");
  v("class_metrics", class_metrics_, OptionRole::kValue,
    internal::words::kClassMetrics);
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

void PascalVOCOptions::validate(const char* metric) const {
  internal::detection::check_fractions(metric, "iou_thresholds",
                                       iou_thresholds_);
  internal::detection::check_not_empty(metric, "iou_thresholds",
                                       iou_thresholds_);
}

internal::detection::MatchRules PascalVOCOptions::rules() const {
  internal::detection::MatchRules rules;
  rules.thresholds = iou_thresholds_;
  rules.areas = {{-internal::kInfinity, internal::kInfinity}};
  rules.max_detections = internal::detection::MatchRow::kRanks - 1;
  rules.kind = internal::detection::MatchRules::Kind::kVoc;
  return rules;
}

void BoxOverlapOptions::validate(const char* metric) const {
  const double threshold = iou_threshold_.value_or(0);
  TORCH_CHECK_VALUE(threshold >= -1 && threshold <= 1, metric,
                    ": option 'iou_threshold': expected a number from -1 to "
                    "1, got ",
                    threshold);
}

void internal::detection::check_count_rules(const char* metric,
                                            const CountRules& rules) {
  // Pairs of the classes and the background are indexed in int32.
  constexpr std::int64_t kMostClasses = 46339;
  TORCH_CHECK_VALUE(rules.num_classes >= 1 && rules.num_classes <= kMostClasses,
                    metric, ": expected num_classes from 1 to ", kMostClasses,
                    ", got ", rules.num_classes);
  TORCH_CHECK_VALUE(rules.shape != ObjectShape::kKeypoints, metric,
                    ": option 'iou_type': expected bbox or segm, got "
                    "keypoints");
  TORCH_CHECK_VALUE(rules.iou_threshold >= 0 && rules.iou_threshold < 1, metric,
                    ": option 'iou_threshold': expected a number from 0 to "
                    "below 1, got ",
                    rules.iou_threshold);
  TORCH_CHECK_VALUE(std::isfinite(rules.score_threshold), metric,
                    ": option 'score_threshold': expected a finite number, "
                    "got ",
                    rules.score_threshold);
}

void PanopticQualityOptions::validate(const char* metric) const {
  std::vector<std::int64_t> all = categories();
  TORCH_CHECK_VALUE(!all.empty(), metric,
                    ": options 'things' and 'stuffs': expected categories, "
                    "got none");
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  TORCH_CHECK_VALUE(twice == all.end(), metric,
                    ": options 'things' and 'stuffs': expected different "
                    "categories, got ",
                    twice == all.end() ? 0 : *twice, " twice in ",
                    c10::ArrayRef<std::int64_t>(things_), " and ",
                    c10::ArrayRef<std::int64_t>(stuffs_));
}

std::vector<std::int64_t> PanopticQualityOptions::categories() const {
  std::vector<std::int64_t> all = things_;
  all.insert(all.end(), stuffs_.begin(), stuffs_.end());
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(things_.size());
  std::sort(all.begin(), middle);
  std::sort(middle, all.end());
  return all;
}

}  // namespace tally
