#include "tally/metrics/intervals/kernels/score_groups.h"

namespace tally::internal::intervals {
namespace {

struct Spread {
  double area = 0;
  double positives = 0;  // sums of squared deviations of placements
  double negatives = 0;
  double total_positives = 0;
  double total_negatives = 0;
};

Spread spread_of(const std::vector<ScoreGroup>& groups) {
  Spread spread;
  for (const ScoreGroup& group : groups) {
    spread.total_positives += group.positives;
    spread.total_negatives += group.negatives;
  }
  const double all_positives = spread.total_positives;
  const double all_negatives = spread.total_negatives;
  double below = 0;
  double pairs = 0;
  for (const ScoreGroup& group : groups) {
    pairs += group.positives * (below + group.negatives / 2);
    below += group.negatives;
  }
  spread.area = pairs / all_positives / all_negatives;
  double negatives_below = 0;
  double positives_below = 0;
  for (const ScoreGroup& group : groups) {
    const double of_positive =
        (negatives_below + group.negatives / 2) / all_negatives - spread.area;
    const double of_negative =
        1 - (positives_below + group.positives / 2) / all_positives -
        spread.area;
    spread.positives += group.squared_positives * of_positive * of_positive;
    spread.negatives += group.squared_negatives * of_negative * of_negative;
    negatives_below += group.negatives;
    positives_below += group.positives;
  }
  return spread;
}

}  // namespace

AreaMoments weighted_delong(const std::vector<ScoreGroup>& groups) {
  const Spread spread = spread_of(groups);
  const double p = spread.total_positives;
  const double q = spread.total_negatives;
  return {spread.area, spread.positives / p / p + spread.negatives / q / q};
}

AreaMoments counted_delong(const std::vector<ScoreGroup>& groups) {
  const Spread spread = spread_of(groups);
  const double p = spread.total_positives;
  const double q = spread.total_negatives;
  return {spread.area,
          spread.positives / p / (p - 1) + spread.negatives / q / (q - 1)};
}

}  // namespace tally::internal::intervals
