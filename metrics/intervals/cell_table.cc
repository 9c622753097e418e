#include "tally/metrics/intervals/cell_table.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/proportions.h"
#include "tally/metrics/intervals/unit_statistics.h"
#include "tally/metrics/resampling/philox.h"
#include "tally/metrics/resampling/poisson_count.h"

namespace tally::internal::intervals {

std::vector<double> sums_of(const CellTable& table) {
  std::vector<double> sums(table.sums, 0);
  for (const auto& cell : table.cells) {
    for (const auto& [place, amount] : cell.adds) {
      sums[place] += amount * static_cast<double>(cell.count);
    }
  }
  return sums;
}

namespace {

std::vector<double> values_at(const Metric& metric, const CellTable& table,
                              const std::vector<double>& sums) {
  return flat_result(metric, table.state(sums)).values;
}

struct Moments {
  double squares = 0;
  double cubes = 0;
};

// Of the deviations of a row's derivative from their mean.
Moments moments_of(const CellTable& table,
                   const std::vector<std::vector<double>>& gradients,
                   std::size_t value) {
  double n = 0;
  double sum = 0;
  for (std::size_t j = 0; j < table.cells.size(); ++j) {
    const auto count = static_cast<double>(table.cells[j].count);
    n += count;
    sum += count * gradients[j][value];
  }
  Moments moments;
  for (std::size_t j = 0; j < table.cells.size(); ++j) {
    const auto count = static_cast<double>(table.cells[j].count);
    const double deviation = gradients[j][value] - sum / n;
    moments.squares += count * deviation * deviation;
    moments.cubes += count * deviation * deviation * deviation;
  }
  return moments;
}

Bounds logit_bounds(double value, double error, const CellSampling& range,
                    double deciding, double level) {
  const double width = range.high - range.low;
  const double p = (value - range.low) / width;
  Bounds bounds;
  bounds.standard_error = error;
  bounds.degrees_of_freedom = kInfinity;
  bounds.flags.add(IntervalFlag::kSmallClass, deciding < kSmallestClass);
  IntervalBounds ends;
  // Below, a standard error is only rounding.
  constexpr double kLeast = 1e-10;
  if (p <= 0 || p >= 1 || error < kLeast) {
    bounds.flags.add(IntervalFlag::kNoVariation);
    constexpr double kRounding = 1e-12;
    const double bound = std::round(p);
    if (!(deciding > 0) || !(std::abs(p - bound) < kRounding)) return bounds;
    ends = wilson_interval(bound * deciding, deciding, level);
  } else {
    ends =
        scaled_ends(p, error / width, normal_quantile(0.5 + level / 2), {0, 1});
  }
  bounds.low = range.low + width * ends.low;
  bounds.high = range.low + width * ends.high;
  return bounds;
}

// Scales the drawn counts of each target's cells to the number of its rows; NaN
// where none was drawn.
void keep_classes(const CellTable& table, std::vector<double>& drawn) {
  std::map<std::int64_t, std::pair<double, double>> classes;
  for (std::size_t c = 0; c < drawn.size(); ++c) {
    auto& [rows, times] = classes[table.cells[c].target];
    rows += static_cast<double>(table.cells[c].count);
    times += drawn[c];
  }
  for (std::size_t c = 0; c < drawn.size(); ++c) {
    const auto& [rows, times] = classes[table.cells[c].target];
    drawn[c] = times > 0 ? drawn[c] * rows / times : kNaN;
  }
}

}  // namespace

std::vector<std::vector<double>> cell_gradients(const Metric& metric,
                                                const CellTable& table,
                                                std::size_t values) {
  // Of the fourth order, so that rounding and truncation are small for small
  // counts and for large ones.
  constexpr double kStep = 1e-2;
  const std::vector<double> sums = sums_of(table);
  std::vector<std::vector<double>> by_sum(table.sums,
                                          std::vector<double>(values, 0));
  std::vector<bool> used(table.sums, false);
  for (const auto& cell : table.cells) {
    for (const auto& add : cell.adds) used[add.first] = true;
  }
  for (std::size_t i = 0; i < table.sums; ++i) {
    if (!used[i]) continue;
    for (const auto& [steps, factor] :
         {std::pair{-2.0, 1.0}, std::pair{-1.0, -8.0}, std::pair{1.0, 8.0},
          std::pair{2.0, -1.0}}) {
      std::vector<double> moved = sums;
      moved[i] += steps * kStep;
      const auto at = values_at(metric, table, moved);
      for (std::size_t v = 0; v < values; ++v) {
        by_sum[i][v] += factor * at[v] / (12 * kStep);
      }
    }
  }
  std::vector<std::vector<double>> gradients;
  for (const auto& cell : table.cells) {
    std::vector<double> own(values, 0);
    for (const auto& [place, amount] : cell.adds) {
      for (std::size_t v = 0; v < values; ++v) {
        own[v] += amount * by_sum[place][v];
      }
    }
    gradients.push_back(std::move(own));
  }
  return gradients;
}

std::vector<Bounds> delta_bounds(const Metric& metric, const CellTable& table,
                                 const FlatResult& value,
                                 const CellSampling& range, double level) {
  const std::size_t count = value.values.size();
  const auto gradients = cell_gradients(metric, table, count);
  std::vector<Bounds> bounds;
  for (std::size_t v = 0; v < count; ++v) {
    const double own = value.values[v];
    bounds.push_back(
        own == own
            ? logit_bounds(own,
                           std::sqrt(moments_of(table, gradients, v).squares),
                           range, table.deciding, level)
            : Bounds());
  }
  return bounds;
}

std::vector<Bounds> poisson_cell_bounds(const Metric& metric,
                                        const CellTable& table,
                                        const FlatResult& value,
                                        const IntervalOptions& options) {
  const std::size_t count = value.values.size();
  const auto replicates = static_cast<std::size_t>(options.replicates());
  std::vector<std::vector<double>> drawn(count);
  const PhiloxNumbers numbers(options.seed(), PhiloxStream::kCells);
  std::vector<double> sums(table.sums);
  std::vector<double> times(table.cells.size());
  for (std::size_t r = 0; r < replicates; ++r) {
    std::fill(sums.begin(), sums.end(), 0);
    for (std::size_t c = 0; c < times.size(); ++c) {
      const CellTable::Cell& cell = table.cells[c];
      times[c] = poisson_count(cell.count,
                               numbers(static_cast<std::uint32_t>(r), cell.id));
    }
    if (options.stratified()) keep_classes(table, times);
    for (std::size_t c = 0; c < times.size(); ++c) {
      for (const auto& [place, amount] : table.cells[c].adds) {
        sums[place] += amount * times[c];
      }
    }
    const auto at = values_at(metric, table, sums);
    for (std::size_t v = 0; v < count; ++v) drawn[v].push_back(at[v]);
  }
  std::vector<std::vector<double>> gradients;
  if (options.ends() == ReplicateInterval::kBca) {
    gradients = cell_gradients(metric, table, count);
  }
  std::vector<Bounds> bounds;
  for (std::size_t v = 0; v < count; ++v) {
    double acceleration = 0;
    if (!gradients.empty()) {
      const Moments moments = moments_of(table, gradients, v);
      const double scale = 6 * std::pow(moments.squares, 1.5);
      acceleration = scale > 0 ? moments.cubes / scale : 0;
    }
    bounds.push_back(replicate_bounds(value.values[v], drawn[v], options.ends(),
                                      options.level(), acceleration));
  }
  return bounds;
}

}  // namespace tally::internal::intervals
