#include "tally/metrics/intervals/unpaired_tests.h"

#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"

namespace tally {

namespace intervals = internal::intervals;

namespace {

// std::hypot would ask for a newer glibc than the rest.
double length(double x, double y) { return std::sqrt(x * x + y * y); }

double normal_p_value(double z) {
  return 2 * intervals::normal_cdf(-std::abs(z));
}

void check_estimate(const AreaEstimate& estimate) {
  TORCH_CHECK_VALUE(!(estimate.area < 0 || estimate.area > 1),
                    "compare_areas_unpaired: expected an area in [0, 1], got ",
                    estimate.area);
  TORCH_CHECK_VALUE(!(estimate.standard_error < 0),
                    "compare_areas_unpaired: expected a standard error of at "
                    "least 0, got ",
                    estimate.standard_error);
}

void check_summary(const SampleSummary& sample) {
  TORCH_CHECK_VALUE(!(sample.standard_deviation < 0),
                    "welch_test: expected a standard deviation of at least 0, "
                    "got ",
                    sample.standard_deviation);
  TORCH_CHECK_VALUE(!(sample.n < 0), "welch_test: expected n of at least 0, ",
                    "got ", sample.n);
}

}  // namespace

IntervalBounds difference_interval(double successes1, double n1,
                                   double successes2, double n2, double level) {
  const IntervalBounds first = wilson_interval(successes1, n1, level);
  const IntervalBounds second = wilson_interval(successes2, n2, level);
  const double p = successes1 / n1;
  const double q = successes2 / n2;
  return {p - q - length(p - first.low, second.high - q),
          p - q + length(first.high - p, q - second.low)};
}

ProportionComparison compare_proportions(double successes1, double n1,
                                         double successes2, double n2,
                                         double level) {
  const IntervalBounds ends =
      difference_interval(successes1, n1, successes2, n2, level);
  const double first = successes1 / n1;
  const double second = successes2 / n2;
  const double pooled = (successes1 + successes2) / (n1 + n2);
  const double error = std::sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2));
  // 0 / 0 where nothing varies.
  return {first,    second,    first - second,
          ends.low, ends.high, normal_p_value((first - second) / error)};
}

AreaComparison compare_areas_unpaired(const AreaEstimate& first,
                                      const AreaEstimate& second,
                                      double level) {
  intervals::check_level(level);
  check_estimate(first);
  check_estimate(second);
  AreaComparison result;
  result.first = first.area;
  result.second = second.area;
  result.difference = first.area - second.area;
  const double error = length(first.standard_error, second.standard_error);
  result.standard_error = error > 0 ? error : internal::kNaN;
  const double width =
      intervals::normal_quantile(0.5 + level / 2) * result.standard_error;
  result.low = result.difference - width;
  result.high = result.difference + width;
  result.p_value = normal_p_value(result.difference / result.standard_error);
  return result;
}

WelchResult welch_test(const SampleSummary& first, const SampleSummary& second,
                       double level) {
  intervals::check_level(level);
  check_summary(first);
  check_summary(second);
  const auto variance_of_mean = [](const SampleSummary& sample) {
    return sample.standard_deviation * sample.standard_deviation / sample.n;
  };
  const double v = variance_of_mean(first);
  const double w = variance_of_mean(second);
  WelchResult result;
  result.difference = first.mean - second.mean;
  const bool is_defined = first.n >= 2 && second.n >= 2 && v + w > 0 &&
                          std::isfinite(v + w) &&
                          std::isfinite(result.difference);
  if (!is_defined) {
    result.low = result.high = result.p_value = result.standard_error =
        result.degrees = internal::kNaN;
    return result;
  }
  result.standard_error = std::sqrt(v + w);
  // By shares, whose squares do not underflow.
  const double share = v / (v + w);
  const double rest = w / (v + w);
  result.degrees =
      1 / (share * share / (first.n - 1) + rest * rest / (second.n - 1));
  const double width =
      intervals::student_t_quantile(0.5 + level / 2, result.degrees) *
      result.standard_error;
  result.low = result.difference - width;
  result.high = result.difference + width;
  result.p_value = intervals::student_t_p_value(
      result.difference / result.standard_error, result.degrees);
  return result;
}

}  // namespace tally
