#include "tally/metrics/classification/curves/fixed_rates.h"

#include <c10/util/Exception.h>

#include <limits>
#include <vector>

#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/curves/curve_table.h"

namespace tally::internal::classification {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double rate_of(Rate rate, double tp, double fp, const CurvePoints& points) {
  switch (rate) {
    case Rate::kPrecision:
      return tp / (tp + fp);
    case Rate::kRecall:
      return tp / points.positives;
    case Rate::kSpecificity:
      return (points.negatives - fp) / points.negatives;
  }
  return kNaN;
}

struct Best {
  double rate = kNaN;
  double held = kNaN;
  double threshold = kNaN;

  void offer(const Best& other, double least) {
    if (!(other.held >= least)) return;
    if (other.rate > rate || (other.rate == rate && other.held > held) ||
        (rate != rate && other.rate == other.rate)) {
      *this = other;
    }
  }
};

Best best_of(const CurvePoints& points, Rate wanted, Rate held, double least) {
  Best best;
  const bool defined = rate_of(wanted, 1, 0, points) <= kInfinity &&
                       rate_of(held, 1, 0, points) <= kInfinity;
  if (!defined) return best;
  // Taking nothing as positive makes no mistake, and has no precision.
  if (wanted != Rate::kPrecision) {
    best.offer(
        {rate_of(wanted, 0, 0, points),
         held == Rate::kPrecision ? 1 : rate_of(held, 0, 0, points), kInfinity},
        least);
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    best.offer({rate_of(wanted, points.tp[i], points.fp[i], points),
                rate_of(held, points.tp[i], points.fp[i], points),
                points.thresholds[i]},
               least);
  }
  return best;
}

}  // namespace

BestThresholds best_thresholds(const CurveView& view, Rate wanted, Rate held,
                               double least) {
  const std::vector<CurvePoints> curves = all_points(view, Average::kNone);
  std::vector<double> rates;
  std::vector<double> thresholds;
  for (const CurvePoints& points : curves) {
    const Best best = best_of(points, wanted, held, least);
    rates.push_back(best.rate);
    thresholds.push_back(best.threshold);
  }
  if (view.shape.task == CurveShape::Task::kBinary) {
    return {Number(rates[0]), Number(thresholds[0])};
  }
  return {to_tensor(rates), to_tensor(thresholds)};
}

void check_least_rate(const char* metric, const char* option, double least) {
  TORCH_CHECK_VALUE(least >= 0 && least <= 1, metric, ": expected ", option,
                    " in [0, 1], got ", least);
}

}  // namespace tally::internal::classification
