#include "tally/metrics/detection/options/voc_options.h"

#include <limits>

#include "tally/metrics/detection/options/option_checks.h"

namespace tally {

void PascalVOCOptions::validate(const char* metric) const {
  internal::detection::check_fractions(metric, "iou_thresholds",
                                       iou_thresholds_);
  internal::detection::check_not_empty(metric, "iou_thresholds",
                                       iou_thresholds_);
}

internal::detection::MatchRules PascalVOCOptions::rules() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  internal::detection::MatchRules rules;
  rules.thresholds = iou_thresholds_;
  rules.areas = {{-kInfinity, kInfinity}};
  rules.max_detections = internal::detection::MatchRow::kRanks - 1;
  rules.kind = internal::detection::MatchRules::Kind::kVoc;
  return rules;
}

}  // namespace tally
