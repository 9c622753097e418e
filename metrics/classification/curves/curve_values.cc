#include "tally/metrics/classification/curves/curve_values.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/curves/curve_table.h"
#include "tally/metrics/classification/curves/fixed_rates.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/tensor_of.h"

namespace tally::internal::classification {
namespace {

double positives_of(const ScoreCounts& counts) {
  return std::visit(
      [](const auto& scores) {
        return static_cast<double>(scores.positives());
      },
      counts);
}

double negatives_of(const ScoreCounts& counts) {
  return std::visit(
      [](const auto& scores) {
        return static_cast<double>(scores.negatives());
      },
      counts);
}

// Calls step(positives, negatives) for each distinct score, highest first.
template <class Counts, class Step>
void for_each_step(const Counts& counts, const Step& step) {
  counts.for_each([&](double, auto positives, auto negatives) {
    step(static_cast<double>(positives), static_cast<double>(negatives));
  });
}
template <class Step>
void for_each_step(const ScoreCounts& counts, const Step& step) {
  std::visit([&](const auto& scores) { for_each_step(scores, step); }, counts);
}

// As RankedScores has them.
template <class Counts>
double pairs_in_order(const Counts& counts) {
  double tp = 0;
  double area = 0;
  for_each_step(counts, [&](double rise, double width) {
    area += width * (tp + 0.5 * rise);
    tp += rise;
  });
  return area;
}
template <class Key>
double pairs_in_order(const RankedScores<Key>& ranked) {
  return ranked.pairs_in_order();
}
double pairs_in_order(const RunScores& runs) { return runs.pairs_in_order(); }

template <class Counts>
double sum_of_precisions(const Counts& counts) {
  double tp = 0;
  double fp = 0;
  double sum = 0;
  for_each_step(counts, [&](double rise, double width) {
    tp += rise;
    fp += width;
    sum += rise * (tp / (tp + fp));
  });
  return sum;
}
template <class Key>
double sum_of_precisions(const RankedScores<Key>& ranked) {
  return ranked.sum_of_precisions();
}
double sum_of_precisions(const RunScores& runs) {
  return runs.sum_of_precisions();
}

// 1 / (below + 1) + ... + 1 / (below + count), for whole numbers.
double sum_of_inverses(double below, double count) {
  // From here on four terms of Euler's and Maclaurin's formula suffice.
  constexpr double kLarge = 256;
  double sum = 0;
  for (; count > 0 && (below < kLarge || count < kLarge); --count) {
    sum += 1 / ++below;
  }
  if (count == 0) return sum;
  const auto rest = [](double n) {
    const double square = 1 / (n * n);
    return 0.5 / n - square / 12 + square * square / 120;
  };
  return sum + std::log1p(count / below) + rest(below + count) - rest(below);
}

// The sum of the precisions at positives that come one by one behind tp others
// and fp negatives.
double one_by_one(double tp, double fp, double positives, bool are_weights) {
  if (fp == 0) return positives;
  const double all = tp + fp;
  return positives - fp * (are_weights ? std::log1p(positives / all)
                                       : sum_of_inverses(all, positives));
}

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

double roc_area(const ScoreCounts& counts, std::optional<double> max_fpr) {
  const double positives = positives_of(counts);
  const double negatives = negatives_of(counts);
  if (positives == 0 || negatives == 0) return kNaN;
  if (!max_fpr || *max_fpr == 1) {
    return std::visit([](const auto& scores) { return pairs_in_order(scores); },
                      counts) /
           (positives * negatives);
  }
  double tp = 0;
  double fp = 0;
  double area = 0;
  const double limit = *max_fpr * negatives;
  for_each_step(counts, [&](double rise, double width) {
    const double inside = std::min(width, limit - fp);
    if (inside > 0) area += inside * (tp + 0.5 * rise * (inside / width));
    tp += rise;
    fp += width;
  });
  area /= positives * negatives;
  const double chance = 0.5 * *max_fpr * *max_fpr;
  return 0.5 * (1 + (area - chance) / (*max_fpr - chance));
}

double log_roc_area(const ScoreCounts& counts, double low_fpr,
                    double high_fpr) {
  const double positives = positives_of(counts);
  const double negatives = negatives_of(counts);
  if (positives == 0 || negatives == 0) return kNaN;
  double tpr = 0;
  double fpr = 0;
  double fp = 0;
  double area = 0;
  for_each_step(counts, [&](double rise, double width) {
    fp += width;
    const double right = fp / negatives;
    const double higher = tpr + rise / positives;
    const double from = std::max(fpr, low_fpr);
    const double to = std::min(right, high_fpr);
    if (from < to) {
      const double slope = (higher - tpr) / (right - fpr);
      area += (tpr - slope * fpr) * std::log(to / from) + slope * (to - from);
    }
    tpr = higher;
    fpr = right;
  });
  return area / std::log(high_fpr / low_fpr);
}

double equal_error_rate(const ScoreCounts& counts) {
  const double positives = positives_of(counts);
  const double negatives = negatives_of(counts);
  if (positives == 0 || negatives == 0) return kNaN;
  double tp = 0;
  double fp = 0;
  double rate = kNaN;
  // How far false positives are ahead of false negatives, times both counts.
  double before = -positives * negatives;
  for_each_step(counts, [&](double rise, double width) {
    const double after =
        (fp + width) * positives - (positives - (tp + rise)) * negatives;
    if (before < 0 && after >= 0) {
      rate = (fp + width * (-before / (after - before))) / negatives;
    }
    before = after;
    tp += rise;
    fp += width;
  });
  return rate;
}

double average_precision(const ScoreCounts& counts) {
  const double positives = positives_of(counts);
  if (positives == 0) return kNaN;
  return std::visit(
             [](const auto& scores) { return sum_of_precisions(scores); },
             counts) /
         positives;
}

double roc_area_bound(const ScoreCounts& counts, Bound bound) {
  const double pairs = positives_of(counts) * negatives_of(counts);
  if (pairs == 0) return kNaN;
  double tp = 0;
  double area = 0;
  for_each_step(counts, [&](double rise, double width) {
    area += width * (bound == Bound::kUpper ? tp + rise : tp);
    tp += rise;
  });
  return area / pairs;
}

double average_precision_bound(const ScoreCounts& counts, Bound bound) {
  const double positives = positives_of(counts);
  if (positives == 0) return kNaN;
  const bool are_weights = std::holds_alternative<WeightedScores>(counts);
  double tp = 0;
  double fp = 0;
  double sum = 0;
  for_each_step(counts, [&](double rise, double width) {
    if (rise > 0) {
      sum += bound == Bound::kUpper
                 ? rise * ((tp + rise) / (tp + rise + fp))
                 : one_by_one(tp, fp + width, rise, are_weights);
    }
    tp += rise;
    fp += width;
  });
  return sum / positives;
}

std::vector<CurvePoints> all_points(const CurveView& view, Average average) {
  const PointReader read(view);
  if (average == Average::kMicro ||
      view.shape.task == CurveShape::Task::kBinary) {
    std::vector<CurvePoints> points;
    points.push_back(read(pooled_counts(view)));
    return points;
  }
  std::vector<CurvePoints> points(view.shape.curves);
  visit_counts(view,
               [&](std::int64_t c, const std::optional<ScoreCounts>& counts) {
                 points[c] = read(counts);
               });
  return points;
}

at::Tensor per_curve(const CurveView& view, const std::vector<double>& values) {
  if (view.shape.task == CurveShape::Task::kBinary) return Number(values[0]);
  return tensor_of(values);
}

PaddedRows::PaddedRows(std::int64_t rows, std::int64_t columns)
    : matrix_(at::empty({rows, columns}, at::kDouble)),
      data_(matrix_.mutable_data_ptr<double>()),
      columns_(columns) {
  std::fill_n(data_, rows * columns, kNaN);
}

at::Tensor PaddedRows::tensor(bool one_row) const {
  return one_row ? matrix_.select(0, 0) : matrix_;
}

void check_curve_average(const char* metric, Average average) {
  TORCH_CHECK_VALUE(average != Average::kWeighted, metric,
                    ": expected average micro, macro or none, got weighted");
}

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
  return {per_curve(view, rates), per_curve(view, thresholds)};
}

void check_least_rate(const char* metric, const char* option, double least) {
  TORCH_CHECK_VALUE(least >= 0 && least <= 1, metric, ": expected ", option,
                    " in [0, 1], got ", least);
}

}  // namespace tally::internal::classification
