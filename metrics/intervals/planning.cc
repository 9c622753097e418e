#include "tally/metrics/intervals/planning.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/paired_tests.h"
#include "tally/metrics/intervals/proportions.h"

namespace tally {

namespace intervals = internal::intervals;

namespace {

void check_fraction(const char* function, const char* name, double value) {
  TORCH_CHECK_VALUE(value > 0 && value < 1, function, ": expected ", name,
                    " in (0, 1), got ", value);
}

void check_share(const char* function, const char* name, double value) {
  TORCH_CHECK_VALUE(value >= 0 && value <= 1, function, ": expected ", name,
                    " in [0, 1], got ", value);
}

void check_rows(const char* function, double rows) {
  TORCH_CHECK_VALUE(rows >= 0 && rows <= kMostPlannedRows, function,
                    ": expected 0 to ", kMostPlannedRows, " rows, got ", rows);
}

/// The fewest rows that suffice.
template <class Suffice>
std::int64_t fewest(const char* function, const Suffice& suffice) {
  std::int64_t low = 0;
  std::int64_t high = 1;
  while (!suffice(high)) {
    TORCH_CHECK_VALUE(high < kMostPlannedRows, function, ": more than ",
                      kMostPlannedRows, " rows would be needed");
    low = high;
    high = std::min(2 * high, kMostPlannedRows);
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (suffice(middle) ? high : low) = middle;
  }
  return high;
}

void check_rates(const char* function, double first_only, double second_only) {
  TORCH_CHECK_VALUE(
      first_only >= 0 && second_only >= 0 && first_only + second_only <= 1,
      function, ": expected rates of at least 0 and at most 1 together, got ",
      first_only, " and ", second_only);
}

/// P(X <= bound) for X ~ Binomial(trials, p), where both numbers grow.
class LowerTail {
 public:
  explicit LowerTail(double p) : p_(p) {}

  double cdf() const { return cdf_; }
  /// P(X <= bound) - P(X = bound) / 2, and twice that is mid-p if p is 1/2.
  double mid() const { return cdf_ - pmf_ / 2; }

  void add_trial() {
    cdf_ -= p_ * pmf_;
    ++trials_;
    if (bound_ >= 0) pmf_ *= (1 - p_) * trials_ / (trials_ - bound_);
  }
  void raise_bound() {
    if (bound_ < 0) {
      pmf_ = std::pow(1 - p_, trials_);
    } else if (p_ < 1) {
      pmf_ *= (trials_ - bound_) / (bound_ + 1) * p_ / (1 - p_);
    }
    ++bound_;
    cdf_ += pmf_;
  }

 private:
  double p_;
  double trials_ = 0;
  double bound_ = -1;
  double pmf_ = 0;
  double cdf_ = 0;
};

/// The probabilities of Binomial(n, p) that matter, up to a common factor.
struct Counts {
  std::int64_t first = 0;
  std::vector<double> weights;
};

Counts binomial_counts(std::int64_t n, double p) {
  constexpr double kLeast = 1e-20;
  const auto total = static_cast<double>(n);
  const auto mode =
      static_cast<std::int64_t>(std::min(total, std::floor((total + 1) * p)));
  Counts counts{mode, {}};
  double weight = 1;
  for (std::int64_t k = mode; weight > kLeast; --k) {
    counts.weights.push_back(weight);
    counts.first = k;
    const auto own = static_cast<double>(k);
    weight *= own * (1 - p) / ((total - own + 1) * p);
  }
  std::reverse(counts.weights.begin(), counts.weights.end());
  weight = 1;
  for (std::int64_t k = mode; weight > kLeast; ++k) {
    if (k > mode) counts.weights.push_back(weight);
    const auto own = static_cast<double>(k);
    weight *= (total - own) * p / ((own + 1) * (1 - p));
  }
  return counts;
}

double power_of_mcnemar(double first_only, double second_only,
                        std::int64_t rows, double alpha) {
  const double discordant = std::min(first_only + second_only, 1.0);
  if (rows == 0 || discordant == 0) return 0;
  const double p = first_only / (first_only + second_only);
  // By the smaller of the numbers: under the hypothesis, of those of the first
  // model, and of those of the second.
  LowerTail null(0.5), first(p), second(1 - p);
  const Counts counts = binomial_counts(rows, discordant);
  const std::int64_t last =
      counts.first + static_cast<std::int64_t>(counts.weights.size());
  double power = 0;
  double sum = 0;
  for (std::int64_t k = 0; k < last; ++k) {
    if (k > 0) {
      for (LowerTail* tail : {&null, &first, &second}) tail->add_trial();
    }
    // The bound of rejection never falls, and by one trial rises by 1 at most.
    LowerTail raised = null;
    raised.raise_bound();
    if (2 * raised.mid() <= alpha) {
      null = raised;
      first.raise_bound();
      second.raise_bound();
    }
    if (k < counts.first) continue;
    const double weight =
        counts.weights[static_cast<std::size_t>(k - counts.first)];
    sum += weight;
    power += weight * (first.cdf() + second.cdf());
  }
  return power / sum;
}

void check_areas(const char* function, const ExpectedAreas& areas) {
  check_share(function, "an area", areas.first);
  check_share(function, "an area", areas.second);
  TORCH_CHECK_VALUE(areas.correlation > -1 && areas.correlation < 1, function,
                    ": expected a correlation in (-1, 1), got ",
                    areas.correlation);
  check_fraction(function, "a prevalence", areas.prevalence);
}

AreaEstimate expected_area(double area, double prevalence, double rows) {
  const double positives = prevalence * rows;
  const double negatives = rows - positives;
  return {area, expected_area_error(area, positives, negatives), positives,
          negatives};
}

}  // namespace

std::int64_t rows_for_proportion(double proportion, double width,
                                 double level) {
  constexpr const char* kName = "rows_for_proportion";
  intervals::check_level(level);
  check_share(kName, "a proportion", proportion);
  check_fraction(kName, "a width", width);
  return fewest(kName, [&](std::int64_t rows) {
    const auto n = static_cast<double>(rows);
    const IntervalBounds ends = wilson_interval(proportion * n, n, level);
    return ends.high - ends.low <= width;
  });
}

double mcnemar_power(double first_only, double second_only, std::int64_t rows,
                     double alpha) {
  constexpr const char* kName = "mcnemar_power";
  check_rates(kName, first_only, second_only);
  check_rows(kName, static_cast<double>(rows));
  check_fraction(kName, "alpha", alpha);
  return power_of_mcnemar(first_only, second_only, rows, alpha);
}

std::int64_t rows_for_mcnemar(double first_only, double second_only,
                              double power, double alpha) {
  constexpr const char* kName = "rows_for_mcnemar";
  check_rates(kName, first_only, second_only);
  TORCH_CHECK_VALUE(first_only != second_only, kName,
                    ": expected rates that differ, got ", first_only, " twice");
  check_fraction(kName, "a power", power);
  check_fraction(kName, "alpha", alpha);
  return fewest(kName, [&](std::int64_t rows) {
    return power_of_mcnemar(first_only, second_only, rows, alpha) >= power;
  });
}

double expected_area_error(double area, double positives, double negatives) {
  constexpr const char* kName = "expected_area_error";
  check_share(kName, "an area", area);
  TORCH_CHECK_VALUE(positives >= 0 && negatives >= 0, kName,
                    ": expected numbers of at least 0, got ", positives,
                    " and ", negatives);
  if (positives == 0 || negatives == 0) return internal::kNaN;
  return std::sqrt(intervals::area_variance(area, positives, negatives));
}

double expected_area_width(double area, double prevalence, double rows,
                           double level) {
  constexpr const char* kName = "expected_area_width";
  intervals::check_level(level);
  check_share(kName, "an area", area);
  check_fraction(kName, "a prevalence", prevalence);
  check_rows(kName, rows);
  const IntervalBounds ends =
      delong_interval(expected_area(area, prevalence, rows), level);
  return ends.high - ends.low;
}

std::int64_t rows_for_area(double area, double prevalence, double width,
                           double level) {
  constexpr const char* kName = "rows_for_area";
  check_fraction(kName, "a width", width);
  check_fraction(kName, "a prevalence", prevalence);
  return fewest(kName, [&](std::int64_t rows) {
    return rows >= intervals::rows_for_both_classes(prevalence) &&
           expected_area_width(area, prevalence, static_cast<double>(rows),
                               level) <= width;
  });
}

double compared_areas_power(const ExpectedAreas& areas, double rows,
                            double alpha) {
  constexpr const char* kName = "compared_areas_power";
  check_areas(kName, areas);
  check_rows(kName, rows);
  check_fraction(kName, "alpha", alpha);
  const AreaEstimate first = expected_area(areas.first, areas.prevalence, rows);
  const AreaEstimate second =
      expected_area(areas.second, areas.prevalence, rows);
  if (std::min(first.positives, first.negatives) < 1) return internal::kNaN;
  const double a = first.standard_error;
  const double b = second.standard_error;
  const double error = std::sqrt(a * a + b * b - 2 * areas.correlation * a * b);
  if (error == 0) return internal::kNaN;
  const double z = intervals::normal_quantile(1 - alpha / 2);
  const double shift = std::abs(areas.first - areas.second) / error;
  return intervals::normal_cdf(shift - z) + intervals::normal_cdf(-shift - z);
}

std::int64_t rows_for_compared_areas(const ExpectedAreas& areas, double power,
                                     double alpha) {
  constexpr const char* kName = "rows_for_compared_areas";
  check_areas(kName, areas);
  TORCH_CHECK_VALUE(areas.first != areas.second, kName,
                    ": expected areas that differ, got ", areas.first,
                    " twice");
  check_fraction(kName, "a power", power);
  return fewest(kName, [&](std::int64_t rows) {
    return rows >= intervals::rows_for_both_classes(areas.prevalence) &&
           compared_areas_power(areas, static_cast<double>(rows), alpha) >=
               power;
  });
}

namespace internal::intervals {

std::int64_t rows_for_both_classes(double prevalence) {
  constexpr double kRounding = 1e-9;
  return static_cast<std::int64_t>(
      std::ceil((2 - kRounding) / std::min(prevalence, 1 - prevalence)));
}

}  // namespace internal::intervals
}  // namespace tally
