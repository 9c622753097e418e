#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/intervals/cell_table.h"
#include "tally/metrics/intervals/rate_interval.h"

namespace tally::internal::intervals {
namespace {

double below_of(const RateInterval& own) { return own.value - own.ends.low; }
double above_of(const RateInterval& own) { return own.ends.high - own.value; }

// By class: what it has of one more row in a place of the sums.
using Shares = std::vector<std::pair<std::size_t, Proportion>>;

std::vector<Shares> shares_by_place(const CellTable& table,
                                    const RateSampling& rate) {
  std::vector<Shares> by_place(table.sums);
  std::vector<double> sums(table.sums, 0);
  for (std::size_t i = 0; i < table.sums; ++i) {
    sums[i] = 1;
    const auto proportions = rate.proportions(table.state(sums));
    sums[i] = 0;
    for (std::size_t k = 0; k < proportions.size(); ++k) {
      if (proportions[k].successes != 0 || proportions[k].n != 0) {
        by_place[i].emplace_back(k, proportions[k]);
      }
    }
  }
  return by_place;
}

}  // namespace

std::optional<Bounds> mover_bounds(const CellTable& table, double value,
                                   const RateSampling& averaged, double level) {
  if (table.cells.empty()) return std::nullopt;
  const auto shares = averaged.proportions(table.state(sums_of(table)));
  std::vector<RateInterval> classes(shares.size());
  double sum = 0;
  double count = 0;
  double missing = 0;
  double fewest = kInfinity;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (!(shares[k].n > 0)) {
      ++missing;
      continue;
    }
    classes[k] = wilson_rate_interval(shares[k], averaged.value, level);
    sum += classes[k].value;
    fewest = std::min(fewest, shares[k].n);
    ++count;
  }
  // Classes without rows have no part in the mean, or that of a value of 0.
  constexpr double kRounding = 1e-9;
  double unknown = 0;
  while (unknown <= missing &&
         !(std::abs(sum / (count + unknown) - value) < kRounding)) {
    ++unknown;
  }
  if (count == 0 || unknown > missing) return std::nullopt;

  const std::vector<Shares> by_place = shares_by_place(table, averaged);
  std::map<std::pair<std::size_t, std::size_t>, double> covariances;
  constexpr std::size_t kMostDependent = 256;
  for (const auto& cell : table.cells) {
    std::map<std::size_t, double> gradient;
    for (const auto& [place, amount] : cell.adds) {
      for (const auto& [k, share] : by_place[place]) {
        if (!(shares[k].n > 0)) continue;
        const double p = shares[k].successes / shares[k].n;
        gradient[k] += classes[k].slope * amount *
                       (share.successes - p * share.n) / shares[k].n;
      }
    }
    if (gradient.size() > kMostDependent) return std::nullopt;
    const auto rows = static_cast<double>(cell.count);
    for (const auto& [k, own] : gradient) {
      for (const auto& [l, other] : gradient) {
        covariances[{k, l}] += rows * own * other;
      }
    }
  }
  double variance = 0;
  double below = 0;
  double above = 0;
  for (const RateInterval& own : classes) {
    below += below_of(own) * below_of(own);
    above += above_of(own) * above_of(own);
  }
  for (const auto& [pair, covariance] : covariances) {
    variance += covariance;
    const auto [k, l] = pair;
    const double scale = covariances[{k, k}] * covariances[{l, l}];
    if (k == l || !(scale > 0)) continue;
    const double correlation = covariance / std::sqrt(scale);
    below += correlation * below_of(classes[k]) * below_of(classes[l]);
    above += correlation * above_of(classes[k]) * above_of(classes[l]);
  }
  // Of a class that nobody has seen, anything may be true.
  const double all = count + unknown;
  Bounds bounds;
  bounds.low = value - std::sqrt(std::max(below, 0.0)) / all;
  bounds.high = value + (std::sqrt(std::max(above, 0.0)) + unknown) / all;
  bounds.standard_error = std::sqrt(std::max(variance, 0.0)) / all;
  bounds.degrees_of_freedom = kInfinity;
  bounds.flags.add(IntervalFlag::kMissingClass, missing > 0);
  bounds.flags.add(IntervalFlag::kSmallClass, fewest < kSmallestClass);
  return bounds;
}

}  // namespace tally::internal::intervals
