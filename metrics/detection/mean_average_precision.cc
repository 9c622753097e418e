#include "tally/metrics/detection/mean_average_precision.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tally/metrics/detection/curves/curve_means.h"
#include "tally/metrics/detection/curves/distinct_rows.h"
#include "tally/metrics/detection/curves/precision_curves.h"
#include "tally/state/number.h"

namespace tally {
namespace {

namespace detection = internal::detection;
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

}  // namespace tally
