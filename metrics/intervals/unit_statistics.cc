#include "tally/metrics/intervals/unit_statistics.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/proportions.h"
#include "tally/metrics/resampling/jackknife.h"
#include "tally/metrics/resampling/philox.h"
#include "tally/metrics/resampling/replicate_weights.h"
#include "tally/metrics/resampling/weight_kernels.h"

namespace tally::internal::intervals {
namespace {

double total_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

bool is_close(double a, double b, double scale) {
  constexpr double kRounding = 1e-9;
  return std::abs(a - b) <= kRounding * std::max(scale, 1e-300);
}

bool is_bounded(const ValueRange& range) {
  return std::isfinite(range.low) && std::isfinite(range.high);
}

// By Satterthwaite, of units whose contributions have these spreads.
double effective_degrees(const std::vector<double>& sizes) {
  double squares = 0;
  double fourths = 0;
  for (const double size : sizes) {
    squares += size * size;
    fourths += size * size * size * size;
  }
  return fourths > 0 ? squares * squares / fourths - 1 : 0;
}

// The third standardized moment of jackknife pseudo-values.
double skewness_of(const std::vector<double>& without) {
  const auto count = static_cast<double>(without.size());
  const double mean = total_of(without) / count;
  double squares = 0;
  double cubes = 0;
  for (const double each : without) {
    const double deviation = mean - each;
    squares += deviation * deviation;
    cubes += deviation * deviation * deviation;
  }
  if (!(squares > 0)) return 0;
  return cubes / count / std::pow(squares / count, 1.5);
}

// exp(x), straight from 1 on: few rows must not give ends without measure.
double stretched(double x) { return x <= 1 ? std::exp(x) : std::exp(1.0) * x; }

// Hall's transformation of t, which removes the skewness of a mean.
IntervalBounds hall_ends(double value, const UnitSpread& spread, double t,
                         double units) {
  const double skewness = spread.skewness;
  const double root = std::sqrt(units);
  const auto transformed = [&](double quantile) {
    const double y = quantile / root - skewness / (6 * units);
    return (std::cbrt(1 + skewness * y) - 1) * 3 / skewness * root;
  };
  return {value - transformed(t) * spread.standard_error,
          value - transformed(-t) * spread.standard_error};
}

// Signs of random flips: those that reach |sum| in all, of all flips or some.
double exact_flips(const std::vector<double>& differences, double reached) {
  const std::size_t count = differences.size();
  std::uint64_t reach = 0;
  // Gray code: one sign changes from each to the next; the first one is fixed,
  // since all signs reversed reach the same.
  const std::uint64_t all = std::uint64_t{1} << (count - 1);
  std::vector<double> signs(count, 1);
  for (std::uint64_t i = 0; i < all; ++i) {
    if (i > 0) {
      std::size_t place = 0;
      while (((i >> place) & 1) == 0) ++place;
      signs[place] = -signs[place];
    }
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += signs[k] * differences[k];
    reach += std::abs(sum) >= reached;
  }
  return static_cast<double>(reach) / static_cast<double>(all);
}

double random_flips(const std::vector<double>& differences,
                    const std::vector<std::int64_t>& ids, std::int64_t seed,
                    double reached) {
  const ReplicateWeights weights(seed, WeightKind::kDoubleOrNothing,
                                 kRandomSigns);
  const std::int64_t stride = weights.stride();
  std::vector<double> sums(static_cast<std::size_t>(stride), 0);
  std::vector<std::uint8_t> drawn(static_cast<std::size_t>(stride));
  for (std::size_t k = 0; k < differences.size(); ++k) {
    weights.fill(&ids[k], 1, drawn.data());
    for (std::size_t r = 0; r < sums.size(); ++r) {
      sums[r] += (drawn[r] - 1.0) * differences[k];
    }
  }
  std::int64_t reach = 0;
  for (std::int64_t r = 0; r < kRandomSigns; ++r) {
    reach += std::abs(sums[static_cast<std::size_t>(r)]) >= reached;
  }
  return (1 + static_cast<double>(reach)) / (1 + kRandomSigns);
}

// Values that only say yes or no.
bool are_proportions(const std::vector<double>& alone) {
  return std::all_of(alone.begin(), alone.end(),
                     [](double each) { return each == 0 || each == 1; });
}

bool are_equal(const std::vector<double>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [&](double size) { return size == sizes.front(); });
}

}  // namespace

bool varies(double value, double standard_error) {
  constexpr double kRounding = 1e-12;
  return standard_error > kRounding * std::max(1.0, std::abs(value));
}

UnitSpread unit_spread(const std::vector<double>& without,
                       const UnitBasis& basis) {
  UnitSpread spread;
  spread.standard_error = spread.degrees_of_freedom = kNaN;
  spread.flags.add(IntervalFlag::kFewUnits,
                   basis.units < (basis.are_groups ? kFewGroups : kFewRows));
  spread.flags.add(IntervalFlag::kSmallClass, basis.deciding < kSmallestClass);
  spread.flags.add(IntervalFlag::kFewUnits, basis.deciding_units < kFewGroups);
  spread.flags.add(IntervalFlag::kMissingClass, basis.deciding == 0);
  if (basis.deciding == 0) return spread;
  for (const double each : without) spread.undefined += each != each;
  spread.flags.add(IntervalFlag::kUndefinedBlocks, spread.undefined > 0);
  if (without.size() < 2 || spread.undefined > 0) return spread;
  spread.standard_error = std::sqrt(jackknife_variance(without));
  spread.skewness = skewness_of(without);
  const auto blocks = static_cast<double>(without.size());
  const double effective = effective_degrees(basis.sizes);
  spread.degrees_of_freedom = std::min(effective, blocks - 1);
  spread.flags.add(IntervalFlag::kUnevenUnits,
                   effective < 1 || (!basis.are_divided() &&
                                     effective + 1 < kUneven * blocks));
  for (const double deciding : {basis.deciding, basis.deciding_units}) {
    if (deciding - 1 < spread.degrees_of_freedom) {
      spread.degrees_of_freedom = deciding - 1;
    }
  }
  return spread;
}

std::vector<double> alone_by_mean(double value,
                                  const std::vector<double>& without,
                                  const UnitBasis& basis) {
  const double total = total_of(basis.sizes);
  std::vector<double> alone;
  for (std::size_t k = 0; k < without.size(); ++k) {
    const double size = basis.sizes[k];
    const double own = (total * value - (total - size) * without[k]) / size;
    // What is yes or no by itself is not so after rounding.
    constexpr double kRounding = 1e-9;
    const double whole = std::round(own);
    alone.push_back(std::abs(own - whole) < kRounding ? whole : own);
  }
  return alone;
}

bool is_mean_of_units(const UnitValues& values, const UnitBasis& basis) {
  if (values.alone.size() != basis.sizes.size()) return false;
  double sum = 0;
  double scale = 0;
  for (std::size_t k = 0; k < values.alone.size(); ++k) {
    sum += basis.sizes[k] * values.alone[k];
    scale += basis.sizes[k] * std::abs(values.alone[k]);
  }
  const double total = total_of(basis.sizes);
  return total > 0 && is_close(sum / total, values.value, scale / total);
}

IntervalBounds scaled_ends(double value, double standard_error, double t,
                           const ValueRange& range) {
  const double width = t * standard_error;
  const double below = value - range.low;
  const double above = range.high - value;
  if (is_bounded(range)) {
    const double all = range.high - range.low;
    const double logit = std::log(below / above);
    const double scaled = width * all / (below * above);
    return {range.low + all / (1 + std::exp(scaled - logit)),
            range.low + all / (1 + std::exp(-scaled - logit))};
  }
  if (std::isfinite(range.low)) {
    return {range.low + below * std::exp(-width / below),
            range.low + below * stretched(width / below)};
  }
  if (std::isfinite(range.high)) {
    return {range.high - above * stretched(width / above),
            range.high - above * std::exp(-width / above)};
  }
  return {value - width, value + width};
}

UnitInterval unit_interval(const UnitValues& values, const UnitBasis& basis,
                           const ValueRange& range, double level) {
  UnitInterval interval;
  interval.ends = {kNaN, kNaN};
  interval.spread = unit_spread(values.without, basis);
  const UnitSpread& spread = interval.spread;
  const double value = values.value;
  if (value != value || spread.standard_error != spread.standard_error) {
    return interval;
  }
  const bool is_share = range.low == 0 && std::isfinite(range.high);
  const double share = is_share ? value / range.high : kNaN;
  const bool is_mean = is_mean_of_units(values, basis);
  if (is_share && range.high == 1 && is_mean && !basis.are_divided() &&
      are_equal(basis.sizes) && are_proportions(values.alone)) {
    interval.method = IntervalMethod::kWilson;
    interval.ends =
        wilson_interval(std::min(share, 1.0) * basis.units, basis.units, level);
    return interval;
  }
  if (!varies(value, spread.standard_error)) {
    interval.spread.flags.add(IntervalFlag::kNoVariation);
    const bool is_all = is_share && (share == 1 || (share == 0 && is_mean));
    if (!is_all) return interval;
    const double count =
        std::floor(basis.deciding < basis.units ? basis.deciding : basis.units);
    if (!(count >= 1)) return interval;
    interval.method = IntervalMethod::kClopperPearson;
    interval.ends = clopper_pearson_interval(share * count, count, level);
    interval.ends.low *= range.high;
    interval.ends.high *= range.high;
    return interval;
  }
  // Below, fewer than two of uneven units count.
  if (!(spread.degrees_of_freedom >= 1)) return interval;
  const double t =
      student_t_quantile(0.5 + level / 2, spread.degrees_of_freedom);
  if (!(value > range.low && value < range.high)) return interval;
  interval.ends = scaled_ends(value, spread.standard_error, t, range);
  // Where one unit would move the mean by most of its standard error.
  constexpr double kHeavy = 0.5;
  constexpr double kFewestForSkewness = 8;
  const auto blocks = static_cast<double>(values.without.size());
  if (!is_bounded(range) && blocks >= kFewestForSkewness &&
      std::abs(spread.skewness) > kHeavy * std::sqrt(blocks)) {
    interval.spread.flags.add(IntervalFlag::kHeavyTails);
    const IntervalBounds hall = hall_ends(value, spread, t, blocks);
    if (hall.low > range.low) {
      interval.ends.low = std::min(interval.ends.low, hall.low);
    }
    if (hall.high < range.high) {
      interval.ends.high = std::max(interval.ends.high, hall.high);
    }
  }
  return interval;
}

double sign_flip_p_value(const std::vector<double>& differences,
                         const std::vector<std::int64_t>& ids,
                         std::int64_t seed) {
  if (differences.empty()) return kNaN;
  // Rounding must not decide whether a flip reaches the sum.
  constexpr double kRounding = 1e-12;
  double scale = 0;
  for (const double each : differences) scale += std::abs(each);
  const double reached = std::abs(total_of(differences)) - kRounding * scale;
  if (!(reached > 0)) return reached == reached ? 1 : kNaN;
  return differences.size() <= kMostExactSigns
             ? exact_flips(differences, reached)
             : random_flips(differences, ids, seed, reached);
}

UnitDifference unit_difference(const UnitValues& first,
                               const UnitValues& second, const UnitBasis& basis,
                               const std::vector<std::int64_t>& ids,
                               const ValueRange& range, double level,
                               std::int64_t seed) {
  UnitDifference result;
  result.difference = first.value - second.value;
  result.ends = {kNaN, kNaN};
  result.p_value = kNaN;
  std::vector<double> without;
  for (std::size_t k = 0; k < first.without.size(); ++k) {
    without.push_back(first.without[k] - second.without[k]);
  }
  result.spread = unit_spread(without, basis);
  UnitSpread& spread = result.spread;
  const double difference = result.difference;
  if (difference != difference ||
      spread.standard_error != spread.standard_error) {
    return result;
  }
  const bool has_spread = varies(difference, spread.standard_error) &&
                          spread.degrees_of_freedom >= 1;
  if (has_spread) {
    ValueRange differences;
    if (is_bounded(range)) {
      differences.high = range.high - range.low;
      differences.low = -differences.high;
    }
    if (std::abs(difference) < differences.high) {
      result.ends = scaled_ends(
          difference, spread.standard_error,
          student_t_quantile(0.5 + level / 2, spread.degrees_of_freedom),
          differences);
    }
  } else if (!varies(difference, spread.standard_error)) {
    spread.flags.add(IntervalFlag::kNoVariation);
  }
  const bool has_signs =
      !basis.are_divided() && basis.sizes.size() <= kMostSignUnits &&
      is_mean_of_units(first, basis) && is_mean_of_units(second, basis);
  spread.flags.add(IntervalFlag::kNoSmallP,
                   has_signs && basis.units < kFewestForP);
  if (has_signs) {
    std::vector<double> differences;
    for (std::size_t k = 0; k < basis.sizes.size(); ++k) {
      differences.push_back(basis.sizes[k] *
                            (first.alone[k] - second.alone[k]));
    }
    result.p_value = sign_flip_p_value(differences, ids, seed);
  } else if (has_spread) {
    result.p_value = student_t_p_value(difference / spread.standard_error,
                                       spread.degrees_of_freedom);
  } else if (difference == 0) {
    result.p_value = 1;
  }
  return result;
}

}  // namespace tally::internal::intervals
