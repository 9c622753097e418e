#include "tally/metrics/classification/precision_recall_curve.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/classification/curves/curve_table.h"

namespace tally {

namespace classification = internal::classification;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using classification::CurvePoints;

PrecisionRecall curves_of(const std::vector<CurvePoints>& curves,
                          bool one_curve, double zero_division) {
  std::size_t width = 0;
  for (const CurvePoints& points : curves) {
    width = std::max(width, points.size());
  }
  const auto rows = static_cast<std::int64_t>(curves.size());
  const auto columns = static_cast<std::int64_t>(width);
  classification::PaddedRows precision(rows, columns + 1);
  classification::PaddedRows recall(rows, columns + 1);
  classification::PaddedRows thresholds(rows, columns);
  for (std::int64_t c = 0; c < rows; ++c) {
    const CurvePoints& points = curves[c];
    const std::size_t size = points.size();
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t from = size - 1 - i;
      const double predicted = points.tp[from] + points.fp[from];
      precision.row(c)[i] =
          predicted == 0 ? zero_division : points.tp[from] / predicted;
      recall.row(c)[i] = points.tp[from] / points.positives;
      thresholds.row(c)[i] = points.thresholds[from];
    }
    precision.row(c)[size] = 1;
    recall.row(c)[size] = 0;
  }
  return {precision.tensor(one_curve), recall.tensor(one_curve),
          thresholds.tensor(one_curve)};
}

// Precision by recall, as ascending steps.
class Steps {
 public:
  explicit Steps(const CurvePoints& points) {
    double last = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points.tp[i] > last) add(points.tp[i], points.fp[i], points);
      last = points.tp[i];
    }
    // Below the last threshold.
    if (last < points.positives)
      add(points.positives, points.negatives, points);
  }

  const std::vector<double>& recalls() const { return recalls_; }

  /// REQUIRES: ascending recalls, in (0, 1].
  double precision_at(double recall) {
    while (recalls_[next_] < recall) ++next_;
    return precisions_[next_];
  }

 private:
  void add(double tp, double fp, const CurvePoints& points) {
    recalls_.push_back(tp / points.positives);
    precisions_.push_back(tp / (tp + fp));
  }

  std::vector<double> recalls_;
  std::vector<double> precisions_;
  std::size_t next_ = 0;
};

PrecisionRecall mean_curve(const std::vector<CurvePoints>& curves) {
  std::vector<Steps> classes;
  std::vector<double> recalls;
  bool has_nan = false;
  for (const CurvePoints& points : curves) {
    has_nan |= std::isnan(points.positives);
    if (!(points.positives > 0)) continue;
    classes.emplace_back(points);
    const std::vector<double>& more = classes.back().recalls();
    recalls.insert(recalls.end(), more.begin(), more.end());
  }
  if (has_nan || classes.empty()) {
    return {classification::to_tensor({kNaN, 1}),
            classification::to_tensor({kNaN, 0}),
            classification::to_tensor({kNaN})};
  }
  std::sort(recalls.begin(), recalls.end());
  recalls.erase(std::unique(recalls.begin(), recalls.end()), recalls.end());
  std::vector<double> precisions;
  for (const double recall : recalls) {
    double sum = 0;
    for (Steps& steps : classes) sum += steps.precision_at(recall);
    precisions.push_back(sum / static_cast<double>(classes.size()));
  }
  std::reverse(recalls.begin(), recalls.end());
  std::reverse(precisions.begin(), precisions.end());
  const std::vector<double> thresholds(recalls.size(), kNaN);
  recalls.push_back(0);
  precisions.push_back(1);
  return {classification::to_tensor(precisions),
          classification::to_tensor(recalls),
          classification::to_tensor(thresholds)};
}

PrecisionRecall curve_of(const classification::CurveView& view, Average average,
                         double zero_division) {
  const std::vector<CurvePoints> curves =
      classification::all_points(view, average);
  if (average == Average::kMacro) return mean_curve(curves);
  const bool one_curve = average == Average::kMicro ||
                         view.shape.task == CurveShape::Task::kBinary;
  return curves_of(curves, one_curve, zero_division);
}

}  // namespace

void MulticlassPrecisionRecallCurveOptions::validate(const char* metric) const {
  ZeroDivisionOptions::validate(metric);
  classification::check_curve_average(metric, average());
}

void MultilabelPrecisionRecallCurveOptions::validate(const char* metric) const {
  ZeroDivisionOptions::validate(metric);
  classification::check_curve_average(metric, average());
}

PrecisionRecall BinaryPrecisionRecallCurve::evaluate(const State& state) const {
  return curve_of({state, options()}, Average::kNone,
                  options().zero_division());
}

PrecisionRecall MulticlassPrecisionRecallCurve::evaluate(
    const State& state) const {
  return curve_of({state, options()}, options().average(),
                  options().zero_division());
}

PrecisionRecall MultilabelPrecisionRecallCurve::evaluate(
    const State& state) const {
  return curve_of({state, options()}, options().average(),
                  options().zero_division());
}

}  // namespace tally
