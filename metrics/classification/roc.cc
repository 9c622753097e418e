#include "tally/metrics/classification/roc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tally/metrics/classification/curves/curve_table.h"

namespace tally {

namespace classification = internal::classification;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using classification::CurvePoints;

RocCurve curves_of(const std::vector<CurvePoints>& curves, bool one_curve) {
  std::size_t width = 0;
  for (const CurvePoints& points : curves) {
    width = std::max(width, points.size() + 1);
  }
  const auto rows = static_cast<std::int64_t>(curves.size());
  const auto columns = static_cast<std::int64_t>(width);
  classification::PaddedRows fpr(rows, columns);
  classification::PaddedRows tpr(rows, columns);
  classification::PaddedRows thresholds(rows, columns);
  for (std::int64_t c = 0; c < rows; ++c) {
    const CurvePoints& points = curves[c];
    fpr.row(c)[0] = 0 / points.negatives;
    tpr.row(c)[0] = 0 / points.positives;
    thresholds.row(c)[0] = kInfinity;
    for (std::size_t i = 0; i < points.size(); ++i) {
      fpr.row(c)[i + 1] = points.fp[i] / points.negatives;
      tpr.row(c)[i + 1] = points.tp[i] / points.positives;
      thresholds.row(c)[i + 1] = points.thresholds[i];
    }
  }
  return {fpr.tensor(one_curve), tpr.tensor(one_curve),
          thresholds.tensor(one_curve)};
}

// One class's curve, to be asked for its height at ascending places. It ends at
// (1, 1), whatever the last threshold.
class Line {
 public:
  explicit Line(const CurvePoints& points) : x_{0}, y_{0} {
    for (std::size_t i = 0; i < points.size(); ++i) {
      x_.push_back(points.fp[i] / points.negatives);
      y_.push_back(points.tp[i] / points.positives);
    }
    x_.push_back(1);
    y_.push_back(1);
  }

  const std::vector<double>& places() const { return x_; }

  /// Where the curve arrives at this place, and where it leaves it.
  std::pair<double, double> at(double place) {
    while (x_[next_] < place) ++next_;
    if (x_[next_] > place) {
      const double share =
          (place - x_[next_ - 1]) / (x_[next_] - x_[next_ - 1]);
      const double height = y_[next_ - 1] + share * (y_[next_] - y_[next_ - 1]);
      return {height, height};
    }
    const double arrives = y_[next_];
    while (next_ + 1 < x_.size() && x_[next_ + 1] == place) ++next_;
    return {arrives, y_[next_]};
  }

 private:
  std::vector<double> x_;
  std::vector<double> y_;
  std::size_t next_ = 0;
};

RocCurve mean_curve(const std::vector<CurvePoints>& curves) {
  std::vector<double> places;
  std::vector<Line> lines;
  bool has_nan = false;
  for (const CurvePoints& points : curves) {
    has_nan |= std::isnan(points.positives);
    if (points.positives == 0 || points.negatives == 0) continue;
    lines.emplace_back(points);
    const std::vector<double>& more = lines.back().places();
    places.insert(places.end(), more.begin(), more.end());
  }
  if (has_nan || lines.empty()) {
    const at::Tensor nothing = classification::to_tensor({kNaN});
    return {nothing, nothing.clone(), nothing.clone()};
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::vector<double> fpr;
  std::vector<double> tpr;
  const auto count = static_cast<double>(lines.size());
  for (const double place : places) {
    double arrives = 0;
    double leaves = 0;
    for (Line& line : lines) {
      const auto [low, high] = line.at(place);
      arrives += low;
      leaves += high;
    }
    for (const double sum : {arrives, leaves}) {
      if (!fpr.empty() && fpr.back() == place && tpr.back() == sum / count) {
        continue;
      }
      fpr.push_back(place);
      tpr.push_back(sum / count);
    }
  }
  const std::vector<double> thresholds(fpr.size(), kNaN);
  return {classification::to_tensor(fpr), classification::to_tensor(tpr),
          classification::to_tensor(thresholds)};
}

RocCurve roc_of(const classification::CurveView& view, Average average) {
  const std::vector<CurvePoints> curves =
      classification::all_points(view, average);
  if (average == Average::kMacro) return mean_curve(curves);
  const bool one_curve = average == Average::kMicro ||
                         view.shape.task == CurveShape::Task::kBinary;
  return curves_of(curves, one_curve);
}

}  // namespace

void MulticlassROCOptions::validate(const char* metric) const {
  AveragedCurveOptions::validate(metric);
  classification::check_curve_average(metric, average());
}

void MultilabelROCOptions::validate(const char* metric) const {
  AveragedCurveOptions::validate(metric);
  classification::check_curve_average(metric, average());
}

RocCurve BinaryROC::evaluate(const State& state) const {
  return roc_of({state, options()}, Average::kNone);
}

RocCurve MulticlassROC::evaluate(const State& state) const {
  return roc_of({state, options()}, options().average());
}

RocCurve MultilabelROC::evaluate(const State& state) const {
  return roc_of({state, options()}, options().average());
}

}  // namespace tally
