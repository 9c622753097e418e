#include "tally/metrics/detection/pascal_voc_average_precision.h"

#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/detection/curves/distinct_rows.h"
#include "tally/metrics/detection/curves/hit_lists.h"
#include "tally/state/number.h"

namespace tally {
namespace {

namespace detection = internal::detection;
using Hits = std::vector<detection::Hit>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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
  return count == 0 ? kNaN : sum / static_cast<double>(count);
}

at::Tensor tensor_of(const std::vector<double>& values) {
  at::Tensor tensor =
      at::full({static_cast<std::int64_t>(values.size())}, 0.0, at::kDouble);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<double>());
  return tensor;
}

}  // namespace

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
      own.push_back(objects > 0 ? value : kNaN);
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
    results.add("map_per_class", tensor_of(of_classes),
                {Dimension::kListedClass});
    results.add("classes", rows.labels(), {Dimension::kListedClass});
  }
  return results;
}

}  // namespace tally
