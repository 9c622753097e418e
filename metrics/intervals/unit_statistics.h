#pragma once

#include <cstdint>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/intervals/interval_flags.h"
#include "tally/metrics/sampling.h"

/// What follows from values without each unit.
namespace tally::internal::intervals {

/// What values of units rest on.
struct UnitBasis {
  /// Of each unit, or block of units: its rows that count, or their weights.
  std::vector<double> sizes;
  double units = 0;  ///< that count; more than blocks where they are divided
  bool are_groups = false;
  /// The rows that decide the value, and the groups that have such rows; NaN:
  /// unknown.
  double deciding = kNaN;
  double deciding_units = kNaN;

  bool are_divided() const { return units > static_cast<double>(sizes.size()); }
};

/// A number, what it is without each unit, and of each alone.
struct UnitValues {
  double value = 0;
  std::vector<double> without;
  std::vector<double> alone;  ///< NaN where a unit has no value by itself
};

/// The spread of a number over samples of units.
struct UnitSpread {
  double standard_error = 0;
  double degrees_of_freedom = 0;
  double skewness = 0;         ///< of what units contribute
  std::int64_t undefined = 0;  ///< units without which there is no value
  IntervalFlags flags;
};

/// The jackknife's standard error, with degrees of freedom by Satterthwaite
///
///     df = (sum s^2)^2 / sum s^4 - 1, at most those of the rows that decide
/// for units of sizes s, which are unequal. NaN below 2 units, and where some
/// unit is undefined (kUndefinedBlocks).
UnitSpread unit_spread(const std::vector<double>& without,
                       const UnitBasis& basis);

/// What units have alone if the value is their mean, by the values without
/// them.
std::vector<double> alone_by_mean(double value,
                                  const std::vector<double>& without,
                                  const UnitBasis& basis);
/// Whether the value is the mean of what units have alone, by their sizes.
bool is_mean_of_units(const UnitValues& values, const UnitBasis& basis);

/// The interval from the spread, with quantiles of Student's t on the scale of
/// the range: logit, logarithm, or none. A proportion of units is Wilson's; all
/// at a bound of [0, 1] is Clopper-Pearson's; heavy tails are widened by Hall's
/// transformation.
struct UnitInterval {
  IntervalBounds ends;
  UnitSpread spread;
  IntervalMethod method = IntervalMethod::kJackknife;
};
UnitInterval unit_interval(const UnitValues& values, const UnitBasis& basis,
                           const ValueRange& range, double level);

/// Whether a standard error is more than rounding of the value.
bool varies(double value, double standard_error);

/// The ends of value -+ t standard_error on the scale of the range; that of
/// logarithms is straight beyond a factor of e.
IntervalBounds scaled_ends(double value, double standard_error, double t,
                           const ValueRange& range);

/// The difference of two values of the same units.
struct UnitDifference {
  double difference = 0;
  IntervalBounds ends;
  double p_value = 0;
  UnitSpread spread;
};
/// `ids`: those of the units, which choose random signs. The p-value of a mean
/// is that of the signs of its units' differences: all of them for up to 16
/// units, 4999 random ones for up to 200; otherwise of Student's t.
UnitDifference unit_difference(const UnitValues& first,
                               const UnitValues& second, const UnitBasis& basis,
                               const std::vector<std::int64_t>& ids,
                               const ValueRange& range, double level,
                               std::int64_t seed);

/// The two-sided p-value of sums of differences whose signs are random: of all
/// signs up to kMostExactSigns units, otherwise of kRandomSigns.
inline constexpr std::size_t kMostExactSigns = 16;
inline constexpr std::size_t kMostSignUnits = 200;
inline constexpr std::int64_t kRandomSigns = 4999;
double sign_flip_p_value(const std::vector<double>& differences,
                         const std::vector<std::int64_t>& ids,
                         std::int64_t seed);

}  // namespace tally::internal::intervals
