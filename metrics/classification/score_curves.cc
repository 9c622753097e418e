#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tally/metrics/classification/curves/curve_table.h"
#include "tally/metrics/classification/precision_recall_curve.h"
#include "tally/metrics/classification/roc.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/tensor_of.h"

namespace tally {

namespace classification = internal::classification;

namespace {

using classification::CurvePoints;
using Limit = std::optional<std::int64_t>;

bool has_one_curve(const classification::CurveView& view, Average average) {
  return average == Average::kMicro ||
         view.shape.task == CurveShape::Task::kBinary;
}

// The points with these numbers; before the first is that of no threshold, 0.
void keep(CurvePoints& points, const std::vector<std::size_t>& numbers) {
  if (numbers.size() == points.size() + 1) return;
  std::vector<std::size_t> places;
  for (const std::size_t number : numbers) {
    if (number > 0) places.push_back(number - 1);
  }
  for (auto* values : {&points.thresholds, &points.tp, &points.fp}) {
    *values = classification::selected(*values, places);
  }
}

void limit_roc(CurvePoints& points, Limit limit) {
  if (!limit) return;
  const auto kept = classification::kept_of_rising(
      points.size() + 1, *limit, [&](std::size_t i) {
        const double fp = i == 0 ? 0 : points.fp[i - 1];
        const double tp = i == 0 ? 0 : points.tp[i - 1];
        return std::pair(fp / points.negatives, tp / points.positives);
      });
  keep(points, kept);
}

RocCurve roc_rows(const std::vector<CurvePoints>& curves, bool one_curve) {
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
    const double positives = points.positives, negatives = points.negatives;
    double* const x = fpr.row(c);
    double* const y = tpr.row(c);
    double* const threshold = thresholds.row(c);
    x[0] = 0 / negatives;
    y[0] = 0 / positives;
    threshold[0] = internal::kInfinity;
    for (std::size_t i = 0; i < points.size(); ++i) {
      x[i + 1] = points.fp[i] / negatives;
      y[i + 1] = points.tp[i] / positives;
      threshold[i + 1] = points.thresholds[i];
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

RocCurve mean_roc(const std::vector<CurvePoints>& curves, Limit limit) {
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
    const at::Tensor nothing = internal::tensor_of<double>({internal::kNaN});
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
  if (limit) {
    const auto kept = classification::kept_of_rising(
        fpr.size(), *limit,
        [&](std::size_t i) { return std::pair(fpr[i], tpr[i]); });
    fpr = classification::selected(fpr, kept);
    tpr = classification::selected(tpr, kept);
  }
  const std::vector<double> thresholds(fpr.size(), internal::kNaN);
  return {internal::tensor_of(fpr), internal::tensor_of(tpr),
          internal::tensor_of(thresholds)};
}

RocCurve roc_of(const classification::CurveView& view, Average average,
                Limit limit) {
  std::vector<CurvePoints> curves = classification::all_points(view, average);
  if (average == Average::kMacro) return mean_roc(curves, limit);
  for (CurvePoints& points : curves) limit_roc(points, limit);
  return roc_rows(curves, has_one_curve(view, average));
}

double precision_of(double tp, double fp, double zero_division) {
  return tp + fp == 0 ? zero_division : tp / (tp + fp);
}

void limit_precision_recall(CurvePoints& points, double zero_division,
                            Limit limit) {
  if (!limit) return;
  const auto kept = classification::kept_of_any(
      points.size() + 1, *limit, [&](std::size_t i) {
        if (i == 0) return std::pair(0.0, 1.0);
        const double tp = points.tp[i - 1];
        return std::pair(tp / points.positives,
                         precision_of(tp, points.fp[i - 1], zero_division));
      });
  keep(points, kept);
}

PrecisionRecall precision_recall_rows(const std::vector<CurvePoints>& curves,
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
    const double positives = points.positives;
    double* const x = recall.row(c);
    double* const y = precision.row(c);
    double* const threshold = thresholds.row(c);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t from = size - 1 - i;
      y[i] = precision_of(points.tp[from], points.fp[from], zero_division);
      x[i] = points.tp[from] / positives;
      threshold[i] = points.thresholds[from];
    }
    y[size] = 1;
    x[size] = 0;
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

PrecisionRecall mean_precision_recall(const std::vector<CurvePoints>& curves,
                                      Limit limit) {
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
    return {internal::tensor_of<double>({internal::kNaN, 1}),
            internal::tensor_of<double>({internal::kNaN, 0}),
            internal::tensor_of<double>({internal::kNaN})};
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
  recalls.push_back(0);
  precisions.push_back(1);
  if (limit) {
    const auto kept = classification::kept_of_any(
        recalls.size(), *limit,
        [&](std::size_t i) { return std::pair(recalls[i], precisions[i]); });
    recalls = classification::selected(recalls, kept);
    precisions = classification::selected(precisions, kept);
  }
  const std::vector<double> thresholds(recalls.size() - 1, internal::kNaN);
  return {internal::tensor_of(precisions), internal::tensor_of(recalls),
          internal::tensor_of(thresholds)};
}

template <class Options>
PrecisionRecall precision_recall_of(const CurveState& state,
                                    const Options& options, Average average) {
  const classification::CurveView view(state, options);
  const double zero_division = options.zero_division();
  std::vector<CurvePoints> curves = classification::all_points(view, average);
  if (average == Average::kMacro) {
    return mean_precision_recall(curves, options.max_points());
  }
  for (CurvePoints& points : curves) {
    limit_precision_recall(points, zero_division, options.max_points());
  }
  return precision_recall_rows(curves, has_one_curve(view, average),
                               zero_division);
}

}  // namespace

void MulticlassROCOptions::validate(const char* metric) const {
  PointLimitOptions::validate(metric);
  classification::check_curve_average(metric, average());
}

void MultilabelROCOptions::validate(const char* metric) const {
  PointLimitOptions::validate(metric);
  classification::check_curve_average(metric, average());
}

RocCurve BinaryROC::evaluate(const State& state) const {
  return roc_of({state, options()}, Average::kNone, options().max_points());
}

RocCurve MulticlassROC::evaluate(const State& state) const {
  return roc_of({state, options()}, options().average(),
                options().max_points());
}

RocCurve MultilabelROC::evaluate(const State& state) const {
  return roc_of({state, options()}, options().average(),
                options().max_points());
}

void MulticlassPrecisionRecallCurveOptions::validate(const char* metric) const {
  ZeroDivisionOptions::validate(metric);
  classification::check_curve_average(metric, average());
}

void MultilabelPrecisionRecallCurveOptions::validate(const char* metric) const {
  ZeroDivisionOptions::validate(metric);
  classification::check_curve_average(metric, average());
}

PrecisionRecall BinaryPrecisionRecallCurve::evaluate(const State& state) const {
  return precision_recall_of(state, options(), Average::kNone);
}

PrecisionRecall MulticlassPrecisionRecallCurve::evaluate(
    const State& state) const {
  return precision_recall_of(state, options(), options().average());
}

PrecisionRecall MultilabelPrecisionRecallCurve::evaluate(
    const State& state) const {
  return precision_recall_of(state, options(), options().average());
}

template class MetricOf<BinaryPrecisionRecallCurve, BinaryCurve,
                        PrecisionRecall, BinaryPrecisionRecallCurveOptions>;
template class MetricOf<MulticlassPrecisionRecallCurve, MulticlassCurve,
                        PrecisionRecall, MulticlassPrecisionRecallCurveOptions>;
template class MetricOf<MultilabelPrecisionRecallCurve, MultilabelCurve,
                        PrecisionRecall, MultilabelPrecisionRecallCurveOptions>;
template class MetricOf<BinaryROC, BinaryCurve, RocCurve, BinaryROCOptions>;
template class MetricOf<MulticlassROC, MulticlassCurve, RocCurve,
                        MulticlassROCOptions>;
template class MetricOf<MultilabelROC, MultilabelCurve, RocCurve,
                        MultilabelROCOptions>;

}  // namespace tally
