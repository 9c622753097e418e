#include "tally/metrics/detection/options/detection_options.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace tally {
namespace {

// COCO's largest area, of an image of 100 000 x 100 000.
constexpr double kMostArea = 1e10;

// numpy.linspace(first, last, steps + 1).
std::vector<double> linspace(double first, double last, int steps) {
  const double step = (last - first) / steps;
  std::vector<double> values;
  for (int i = 0; i < steps; ++i) values.push_back(i * step + first);
  values.push_back(last);
  return values;
}

template <class T>
bool ascends(const std::vector<T>& values) {
  return std::adjacent_find(values.begin(), values.end(),
                            std::greater_equal<T>()) == values.end();
}

void check_fractions(const char* metric, const char* option,
                     const std::vector<double>& values) {
  const bool are_fractions =
      std::all_of(values.begin(), values.end(),
                  [](double value) { return value >= 0 && value <= 1; });
  TORCH_CHECK_VALUE(are_fractions && ascends(values), metric, ": option '",
                    option, "': expected ascending numbers from 0 to 1, got ",
                    c10::ArrayRef<double>(values));
}

}  // namespace

void MeanAveragePrecisionOptions::visit(OptionVisitor& v) {
  v("box_format", box_format_);
  v("iou_thresholds", iou_thresholds_);
  v("rec_thresholds", rec_thresholds_, OptionRole::kValue);
  v("max_detection_thresholds", max_detection_thresholds_);
  v("area_bounds", area_bounds_);
  v("class_agnostic", class_agnostic_);
  v("average", average_, OptionRole::kValue);
  v("class_metrics", class_metrics_, OptionRole::kValue);
  v("extended_summary", extended_summary_, OptionRole::kValue);
}

void MeanAveragePrecisionOptions::validate(const char* metric) const {
  check_fractions(metric, "iou_thresholds", iou_thresholds_);
  check_fractions(metric, "rec_thresholds", rec_thresholds_);
  const std::vector<std::int64_t>& most = max_detection_thresholds_;
  TORCH_CHECK_VALUE(
      !most.empty() && most.front() >= 1 &&
          most.back() < internal::detection::MatchRow::kRanks && ascends(most),
      metric,
      ": option 'max_detection_thresholds': expected ascending numbers ",
      "of 1 or more, got ", c10::ArrayRef<std::int64_t>(most));
  TORCH_CHECK_VALUE(area_bounds_.size() == 2 && area_bounds_.front() >= 0 &&
                        area_bounds_.back() <= kMostArea &&
                        ascends(area_bounds_),
                    metric, ": option 'area_bounds': expected two ascending ",
                    "areas, got ", c10::ArrayRef<double>(area_bounds_));
}

std::vector<double> MeanAveragePrecisionOptions::overlaps() const {
  return iou_thresholds_.empty() ? linspace(0.5, 0.95, 9) : iou_thresholds_;
}

std::vector<double> MeanAveragePrecisionOptions::recalls() const {
  return rec_thresholds_.empty() ? linspace(0, 1, 100) : rec_thresholds_;
}

internal::detection::MatchRules MeanAveragePrecisionOptions::rules() const {
  internal::detection::MatchRules rules;
  rules.thresholds = overlaps();
  rules.areas = {{0, kMostArea},
                 {0, area_bounds_[0]},
                 {area_bounds_[0], area_bounds_[1]},
                 {area_bounds_[1], kMostArea}};
  rules.max_detections = max_detection_thresholds_.back();
  rules.class_agnostic = class_agnostic_;
  return rules;
}

}  // namespace tally
