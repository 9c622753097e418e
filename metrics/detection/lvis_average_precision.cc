#include "tally/metrics/detection/lvis_average_precision.h"

#include <ATen/ops/full.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/detection/curves/curve_means.h"
#include "tally/metrics/detection/curves/distinct_rows.h"
#include "tally/metrics/detection/curves/precision_curves.h"
#include "tally/metrics/detection/options/option_checks.h"
#include "tally/state/number.h"

namespace tally {
namespace {

namespace detection = internal::detection;
using detection::mean_of;

constexpr const char* kSizes[] = {"small", "medium", "large"};

// The places of the classes that a list has.
std::vector<std::size_t> places_of(
    const std::vector<std::int64_t>& labels,
    const std::vector<detection::ClassRows>& classes) {
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < classes.size(); ++k) {
    if (std::count(labels.begin(), labels.end(), classes[k].label) != 0) {
      places.push_back(k);
    }
  }
  return places;
}

}  // namespace

Results LVISAveragePrecision::evaluate(const State& state) const {
  const detection::MatchRules matches = options().rules();
  detection::DistinctRows rows = detection::distinct_rows(
      state, matches.areas.size(), matches.thresholds.size());
  const detection::PrecisionCurves curves = detection::precision_curves(
      rows, rows.classes,
      {detection::recalls_or_coco(options().rec_thresholds()),
       {matches.max_detections}});
  Results results;
  const auto add = [&](std::string name, const at::Tensor& array,
                       const detection::CurveSelection& selection) {
    results.add(std::move(name),
                internal::scalar_tensor(mean_of(array, selection)));
  };
  const auto add_at = [&](const char* name, double threshold) {
    const auto found = std::find(matches.thresholds.begin(),
                                 matches.thresholds.end(), threshold);
    if (found == matches.thresholds.end()) {
      results.add(name, internal::scalar_tensor(-1.0));
      return;
    }
    const auto t = static_cast<std::size_t>(found - matches.thresholds.begin());
    add(name, curves.precision, {t});
  };
  add("map", curves.precision, {});
  add_at("map_50", 0.5);
  add_at("map_75", 0.75);
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    add(std::string("map_") + kSizes[i], curves.precision, {{}, {}, i + 1});
  }
  const auto add_group = [&](const char* name,
                             const std::vector<std::int64_t>& labels) {
    add(name, curves.precision, {{}, places_of(labels, rows.classes)});
  };
  add_group("map_rare", options().rare_labels());
  add_group("map_common", options().common_labels());
  add_group("map_frequent", options().frequent_labels());
  add("mar_" + std::to_string(options().max_detections()), curves.recall, {});
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    add(std::string("mar_") + kSizes[i], curves.recall, {{}, {}, i + 1});
  }
  if (options().class_metrics()) {
    at::Tensor values = at::full(
        {static_cast<std::int64_t>(rows.classes.size())}, -1.0, at::kDouble);
    for (std::size_t k = 0; k < rows.classes.size(); ++k) {
      values.mutable_data_ptr<double>()[k] =
          mean_of(curves.precision, {{}, std::vector<std::size_t>{k}});
    }
    results.add("map_per_class", std::move(values), {Dimension::kListedClass});
    results.add("classes", rows.labels(), {Dimension::kListedClass});
  }
  return results;
}

}  // namespace tally
