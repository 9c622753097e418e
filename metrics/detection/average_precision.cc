#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/detection/curves/distinct_rows.h"
#include "tally/metrics/detection/curves/hit_lists.h"
#include "tally/metrics/detection/curves/precision_curves.h"
#include "tally/metrics/detection/lvis_average_precision.h"
#include "tally/metrics/detection/mean_average_precision.h"
#include "tally/metrics/detection/mean_average_recall.h"
#include "tally/metrics/detection/options/option_checks.h"
#include "tally/metrics/detection/pascal_voc_average_precision.h"
#include "tally/state/number.h"

namespace tally {
namespace {

namespace detection = internal::detection;
using Hits = std::vector<detection::Hit>;
using detection::CurveSelection;
using detection::mean_of;
using detection::PrecisionCurves;

// Means of one set of curves, by TorchMetrics' names.
class Summary {
 public:
  Summary(const MeanAveragePrecisionOptions& options, Results& results)
      : options_(options),
        thresholds_(options.overlaps()),
        depths_(options.depths()),
        last_(depths_.size() - 1),
        results_(results) {}

  void add_means(const PrecisionCurves& curves) {
    add("map", mean_of(curves.precision, {{}, {}, 0, last_}));
    add("map_50", mean_at(curves.precision, 0.5));
    add("map_75", mean_at(curves.precision, 0.75));
    const std::vector<std::string> sizes = size_names();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      add("map_" + sizes[i], mean_of(curves.precision, {{}, {}, i + 1, last_}));
    }
    for (std::size_t m = 0; m <= last_; ++m) {
      add(recall_name(m), mean_of(curves.recall, {{}, {}, 0, m}));
    }
    if (has_keypoints()) {
      add("mar_at_50", mean_at(curves.recall, 0.5));
      add("mar_at_75", mean_at(curves.recall, 0.75));
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      add("mar_" + sizes[i], mean_of(curves.recall, {{}, {}, i + 1, last_}));
    }
  }

  void add_classes(const PrecisionCurves& curves) {
    const std::int64_t count = curves.recall.size(1);
    at::Tensor precisions = at::empty({count}, at::kDouble);
    at::Tensor recalls = at::empty({count}, at::kDouble);
    for (std::int64_t k = 0; k < count; ++k) {
      const CurveSelection one{
          {}, std::vector<std::size_t>{static_cast<std::size_t>(k)}, 0, last_};
      precisions.mutable_data_ptr<double>()[k] = mean_of(curves.precision, one);
      recalls.mutable_data_ptr<double>()[k] = mean_of(curves.recall, one);
    }
    results_.add("map_per_class", std::move(precisions),
                 {Dimension::kListedClass});
    results_.add(recall_name(last_) + "_per_class", std::move(recalls),
                 {Dimension::kListedClass});
  }

 private:
  void add(std::string name, double value) {
    results_.add(std::move(name), internal::scalar_tensor(value));
  }
  bool has_keypoints() const {
    return options_.iou_type() == ObjectShape::kKeypoints;
  }
  // Those behind all.
  std::vector<std::string> size_names() const {
    if (has_keypoints()) return {"medium", "large"};
    return {"small", "medium", "large"};
  }
  double mean_at(const at::Tensor& array, double threshold) const {
    const auto found =
        std::find(thresholds_.begin(), thresholds_.end(), threshold);
    if (found == thresholds_.end()) return -1;
    const auto t = static_cast<std::size_t>(found - thresholds_.begin());
    return mean_of(array, {t, {}, 0, last_});
  }
  std::string recall_name(std::size_t m) const {
    return "mar_" + std::to_string(depths_[m]);
  }

  const MeanAveragePrecisionOptions& options_;
  std::vector<double> thresholds_;
  std::vector<std::int64_t> depths_;
  std::size_t last_;  // of depths_
  Results& results_;
};

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

// The best precision at each hit's recall or a higher one.
std::vector<double> envelope_of(const Hits& hits) {
  std::vector<double> envelope(hits.size());
  double best = 0;
  for (std::size_t i = hits.size(); i-- > 0;) {
    best = std::max(best, static_cast<double>(i + 1) / hits[i].counted);
    envelope[i] = best;
  }
  return envelope;
}

double area_of(const Hits& hits, double objects) {
  const std::vector<double> envelope = envelope_of(hits);
  double area = 0, before = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const double recall = static_cast<double>(i + 1) / objects;
    area += (recall - before) * envelope[i];
    before = recall;
  }
  return area;
}

double mean_of_eleven(const Hits& hits, double objects) {
  constexpr int kPoints = 11;
  const std::vector<double> envelope = envelope_of(hits);
  double sum = 0;
  for (int point = 0; point < kPoints; ++point) {
    const double recall = point * 0.1;
    std::size_t i = 0;
    while (i < hits.size() && static_cast<double>(i + 1) / objects < recall) {
      ++i;
    }
    sum += (i < hits.size() ? envelope[i] : 0) / kPoints;
  }
  return sum;
}

// The mean of what is not NaN.
double mean_of_defined(const std::vector<double>& values) {
  double sum = 0;
  std::int64_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? internal::kNaN : sum / static_cast<double>(count);
}

}  // namespace

Results MeanAveragePrecision::evaluate(const State& state) const {
  const detection::MatchRules matches = options().rules();
  detection::DistinctRows rows = detection::distinct_rows(
      state, matches.areas.size(), matches.thresholds.size());
  const detection::CurveRules rules{options().recalls(), options().depths(),
                                    options().extended_summary()};
  Results results;
  Summary summary(options(), results);
  const bool is_pooled = options().average() == DetectionAverage::kMicro;
  std::vector<detection::ClassRows> pool;
  if (is_pooled && !rows.classes.empty()) pool.push_back(rows.pooled());
  const PrecisionCurves curves =
      detection::precision_curves(rows, is_pooled ? pool : rows.classes, rules);
  summary.add_means(curves);
  if (options().class_metrics()) {
    summary.add_classes(
        is_pooled ? detection::precision_curves(rows, rows.classes, rules)
                  : curves);
    results.add("classes", rows.labels(), {Dimension::kListedClass});
  }
  if (options().extended_summary()) {
    const Dimensions recalls{Dimension::kThreshold, Dimension::kListedClass,
                             Dimension::kArea, Dimension::kLimit};
    Dimensions points = recalls;
    points.insert(points.begin() + 1, Dimension::kPoint);
    results.add("precision", curves.precision, points);
    results.add("recall", curves.recall, recalls);
    results.add("scores", curves.scores, points);
  }
  return results;
}

at::Tensor MeanAverageRecall::evaluate(const State& state) const {
  const detection::MatchRules matches = options().rules();
  detection::DistinctRows rows = detection::distinct_rows(
      state, matches.areas.size(), matches.thresholds.size());
  const bool is_pooled = options().average() == DetectionAverage::kMicro;
  std::vector<detection::ClassRows> pool;
  if (is_pooled && !rows.classes.empty()) pool.push_back(rows.pooled());
  const detection::PrecisionCurves curves = detection::precision_curves(
      rows, is_pooled ? pool : rows.classes,
      {/*recalls=*/{}, {options().depths().back()}});
  return internal::scalar_tensor(detection::mean_of(curves.recall, {}));
}

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

Results PascalVOCAveragePrecision::evaluate(const State& state) const {
  const std::vector<double>& thresholds = options().iou_thresholds();
  detection::DistinctRows rows =
      detection::distinct_rows(state, /*areas=*/1, thresholds.size());
  const bool has_points =
      options().interpolation() == VOCInterpolation::kElevenPoints;
  // By threshold, and of classes over thresholds.
  std::vector<std::vector<double>> values(thresholds.size());
  std::vector<double> of_classes;
  detection::HitLists lists(rows);
  for (detection::ClassRows& one : rows.classes) {
    rows.sort(one);
    lists.read(one, detection::MatchRow::kRanks);
    const auto objects = static_cast<double>(one.objects.front());
    std::vector<double> own;
    for (std::size_t t = 0; t < thresholds.size(); ++t) {
      const Hits& hits = lists.hits(0, t);
      const double value =
          has_points ? mean_of_eleven(hits, objects) : area_of(hits, objects);
      own.push_back(objects > 0 ? value : internal::kNaN);
      values[t].push_back(own.back());
    }
    of_classes.push_back(mean_of_defined(own));
  }
  Results results;
  results.add("map", internal::scalar_tensor(mean_of_defined(of_classes)));
  for (std::size_t t = 0; t < thresholds.size() && thresholds.size() > 1; ++t) {
    std::string percent =
        std::to_string(std::lround(thresholds[t] * 1e6) / 1e4);
    percent.erase(percent.find_last_not_of('0') + 1);
    if (percent.back() == '.') percent.pop_back();
    results.add("map_" + percent,
                internal::scalar_tensor(mean_of_defined(values[t])));
  }
  if (options().class_metrics()) {
    results.add("map_per_class", internal::tensor_of(of_classes),
                {Dimension::kListedClass});
    results.add("classes", rows.labels(), {Dimension::kListedClass});
  }
  return results;
}

template class MetricOf<LVISAveragePrecision, MatchedDetections, Results,
                        LVISOptions>;
template class MetricOf<MeanAveragePrecision, MatchedDetections, Results,
                        MeanAveragePrecisionOptions>;
template class MetricOf<MeanAverageRecall, MatchedDetections, at::Tensor,
                        MeanAveragePrecisionOptions>;
template class MetricOf<PascalVOCAveragePrecision, MatchedDetections, Results,
                        PascalVOCOptions>;

}  // namespace tally
