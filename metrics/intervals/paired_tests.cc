#include "tally/metrics/intervals/paired_tests.h"

#include <ATen/ops/searchsorted.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tally/metrics/intervals/kernels/distributions.h"

namespace tally {

namespace intervals = internal::intervals;

namespace {

// For each score, the number of others below it, ties counting half.
at::Tensor below(const at::Tensor& scores, const at::Tensor& others) {
  const at::Tensor sorted = std::get<0>(others.sort());
  return at::searchsorted(sorted, scores)
      .add(at::searchsorted(sorted, scores, /*out_int32=*/false,
                            /*right=*/true))
      .to(at::kDouble)
      .div(2);
}

struct Placements {
  at::Tensor positives;
  at::Tensor negatives;
};

Placements placements_of(const at::Tensor& scores, const at::Tensor& positive) {
  const at::Tensor p = scores.masked_select(positive);
  const at::Tensor n = scores.masked_select(positive.logical_not());
  return {below(p, n).div(n.numel()), below(n, p).div(p.numel()).neg().add(1)};
}

// The squared standard error of a mean.
double variance_of_mean(const at::Tensor& values) {
  return values.var().item<double>() / static_cast<double>(values.numel());
}

}  // namespace

McnemarResult mcnemar(std::int64_t first_only, std::int64_t second_only) {
  TORCH_CHECK_VALUE(first_only >= 0 && second_only >= 0,
                    "mcnemar: expected numbers of at least 0, got ", first_only,
                    " and ", second_only);
  if (first_only == second_only) return {1, 1};
  const std::int64_t n = first_only + second_only;
  const std::int64_t fewer = std::min(first_only, second_only);
  const double at_most = intervals::binomial_cdf(fewer, n, 0.5);
  const double exactly = at_most - intervals::binomial_cdf(fewer - 1, n, 0.5);
  const double exact = std::min(1.0, 2 * at_most);
  return {exact, exact - exactly};
}

IntervalBounds paired_difference_interval(std::int64_t both,
                                          std::int64_t first_only,
                                          std::int64_t second_only,
                                          std::int64_t neither, double level) {
  intervals::check_level(level);
  for (const std::int64_t count : {both, first_only, second_only, neither}) {
    TORCH_CHECK_VALUE(count >= 0,
                      "paired_difference_interval: expected numbers of at "
                      "least 0, got ",
                      count);
  }
  const auto a = static_cast<double>(both);
  const auto b = static_cast<double>(first_only);
  const auto c = static_cast<double>(second_only);
  const auto d = static_cast<double>(neither);
  const double n = a + b + c + d;
  const IntervalBounds first = wilson_interval(a + b, n, level);
  const IntervalBounds second = wilson_interval(a + c, n, level);
  const double p = (a + b) / n;
  const double q = (a + c) / n;
  const double root = std::sqrt((a + b) * (c + d) * (a + c) * (b + d));
  double common = a * d - b * c;
  if (common > 0) common = std::max(common - n / 2, 0.0);
  const double phi = root > 0 ? common / root : 0;
  const auto distance = [phi](double own, double other) {
    return std::sqrt(own * own - 2 * phi * own * other + other * other);
  };
  return {p - q - distance(p - first.low, second.high - q),
          p - q + distance(first.high - p, q - second.low)};
}

AreaComparison compare_areas(const at::Tensor& first, const at::Tensor& second,
                             const at::Tensor& target, double level) {
  intervals::check_level(level);
  const AreaEstimate a = delong(first, target);
  const AreaEstimate b = delong(second, target);
  AreaComparison result;
  result.first = a.area;
  result.second = b.area;
  result.difference = a.area - b.area;
  if (!(std::min(a.positives, a.negatives) >= 2)) {
    result.low = result.high = result.p_value = result.standard_error =
        std::numeric_limits<double>::quiet_NaN();
    return result;
  }
  const at::Tensor positive = target.cpu().eq(1);
  const auto of_first = placements_of(first.cpu().to(at::kDouble), positive);
  const auto of_second = placements_of(second.cpu().to(at::kDouble), positive);
  result.standard_error =
      std::sqrt(variance_of_mean(of_first.positives.sub(of_second.positives)) +
                variance_of_mean(of_first.negatives.sub(of_second.negatives)));
  const double width =
      intervals::normal_quantile(0.5 + level / 2) * result.standard_error;
  result.low = result.difference - width;
  result.high = result.difference + width;
  result.p_value =
      result.standard_error > 0
          ? 2 * intervals::normal_cdf(-std::abs(result.difference) /
                                      result.standard_error)
          : (result.difference == 0 ? 1 : 0);
  return result;
}

}  // namespace tally
