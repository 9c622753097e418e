#include "tally/metrics/intervals/proportions.h"

#include <ATen/ops/searchsorted.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/paired_tests.h"
#include "tally/metrics/intervals/unit_statistics.h"

namespace tally {
namespace internal::intervals {

void check_level(double level) {
  TORCH_CHECK_VALUE(level > 0 && level < 1, "expected a level in (0, 1), got ",
                    level);
}

double area_variance(double area, double positives, double negatives) {
  const double extra = (positives + negatives) / 2 - 1;
  return area * (1 - area) / positives / negatives *
         (1 + extra * ((1 - area) / (2 - area) + area / (1 + area)));
}

}  // namespace internal::intervals

namespace intervals = internal::intervals;

namespace {

double two_sided_z(double level) {
  return intervals::normal_quantile(0.5 + level / 2);
}

void check_proportion(double successes, double n) {
  TORCH_CHECK_VALUE(n >= 0 && successes >= 0 && successes <= n,
                    "expected 0 to n successes, got ", successes, " of ", n);
}

at::Tensor delong_numbers(const char* name, const at::Tensor& tensor,
                          std::int64_t size) {
  TORCH_CHECK_VALUE(tensor.dim() == 1 && tensor.size(0) == size,
                    "delong: expected ", name, " of sizes [", size, "], got ",
                    tensor.sizes());
  at::Tensor values = tensor.to(at::kCPU, at::kDouble).contiguous();
  TORCH_CHECK_VALUE(!values.isnan().any().item<bool>(), "delong: expected ",
                    name, " without NaN");
  return values;
}

ScoreGroup sum_of(const std::vector<ScoreGroup>& groups) {
  ScoreGroup sum;
  for (const ScoreGroup& group : groups) {
    sum.positives += group.positives;
    sum.negatives += group.negatives;
    sum.squared_positives += group.squared_positives;
    sum.squared_negatives += group.squared_negatives;
  }
  return sum;
}

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

IntervalBounds wilson_interval(double successes, double n, double level) {
  intervals::check_level(level);
  check_proportion(successes, n);
  if (n == 0) return {internal::kNaN, internal::kNaN};
  const double z = two_sided_z(level);
  const double p = successes / n;
  const double spread = z * z / n;
  const double center = p + spread / 2;
  const double width = std::sqrt(spread * (p * (1 - p) + spread / 4));
  const double low = successes == 0 ? 0 : (center - width) / (1 + spread);
  const double high = successes == n ? 1 : (center + width) / (1 + spread);
  return {std::max(low, 0.0), std::min(high, 1.0)};
}

IntervalBounds clopper_pearson_interval(double successes, double n,
                                        double level) {
  intervals::check_level(level);
  check_proportion(successes, n);
  if (n == 0) return {internal::kNaN, internal::kNaN};
  const double tail = (1 - level) / 2;
  return {successes == 0
              ? 0
              : intervals::beta_quantile(successes, n - successes + 1, tail),
          successes == n ? 1
                         : intervals::beta_quantile(successes + 1,
                                                    n - successes, 1 - tail)};
}

IntervalBounds newcombe_interval(double area, double positives,
                                 double negatives, double level) {
  intervals::check_level(level);
  TORCH_CHECK_VALUE(area >= 0 && area <= 1, "expected an area in [0, 1], got ",
                    area);
  if (!(positives > 0 && negatives > 0))
    return {internal::kNaN, internal::kNaN};
  constexpr int kBisections = 100;
  const double z = two_sided_z(level);
  const auto is_inside = [&](double t) {
    return std::abs(area - t) <=
           z * std::sqrt(intervals::area_variance(t, positives, negatives));
  };
  const auto end = [&](double outside) {
    double inside = area;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = inside + (outside - inside) / 2;
      (is_inside(middle) ? inside : outside) = middle;
    }
    return inside;
  };
  return {area == 0 ? 0 : end(0), area == 1 ? 1 : end(1)};
}

AreaEstimate delong(const at::Tensor& scores, const at::Tensor& target,
                    const at::Tensor& weight) {
  TORCH_CHECK_VALUE(scores.defined() && target.defined(),
                    "delong: expected scores and target, got an undefined "
                    "tensor");
  const std::int64_t size = scores.numel();
  const at::Tensor score = delong_numbers("scores", scores, size);
  const at::Tensor label = delong_numbers("target", target, size);
  const at::Tensor other = label.ne(0).logical_and(label.ne(1));
  TORCH_CHECK_VALUE(!other.any().item<bool>(),
                    "delong: expected 0 and 1 in target, got ",
                    label.masked_select(other)[0].item<double>());
  at::Tensor weights;
  if (weight.defined()) {
    weights = delong_numbers("weight", weight, size);
    const at::Tensor below_0 = weights.lt(0);
    TORCH_CHECK_VALUE(!below_0.any().item<bool>(),
                      "delong: expected weights of at least 0, got ",
                      weights.masked_select(below_0)[0].item<double>());
  }
  return delong(scored_samples(score, label, weights));
}

AreaEstimate delong(const ScoredSamples& samples) {
  const ScoreGroup all = sum_of(samples.groups);
  double pairs = 0;
  ScoreGroup below;
  for (const ScoreGroup& group : samples.groups) {
    pairs += group.positives * (below.negatives + group.negatives / 2);
    below.negatives += group.negatives;
  }
  const double area = pairs / all.positives / all.negatives;
  // Of squared deviations of placements.
  double of_positives = 0;
  double of_negatives = 0;
  below = {};
  for (const ScoreGroup& group : samples.groups) {
    const double positive =
        (below.negatives + group.negatives / 2) / all.negatives - area;
    const double negative =
        1 - (below.positives + group.positives / 2) / all.positives - area;
    of_positives += group.squared_positives * positive * positive;
    of_negatives += group.squared_negatives * negative * negative;
    below.negatives += group.negatives;
    below.positives += group.positives;
  }
  const double p = all.positives;
  const double q = all.negatives;
  AreaEstimate estimate;
  estimate.area = area;
  estimate.positives = samples.positives;
  estimate.negatives = samples.negatives;
  estimate.effective_positives = p * p / all.squared_positives;
  estimate.effective_negatives = q * q / all.squared_negatives;
  // P / (P - 1) / p^2, which is 1 / p / (p - 1) without weights.
  const double variance = of_positives / (p * p - all.squared_positives) +
                          of_negatives / (q * q - all.squared_negatives);
  estimate.standard_error = variance >= 0 && std::isfinite(variance)
                                ? std::sqrt(variance)
                                : internal::kNaN;
  return estimate;
}

IntervalBounds delong_interval(const AreaEstimate& estimate, double level) {
  intervals::check_level(level);
  const double area = estimate.area;
  if (area != area || estimate.positives < 1 || estimate.negatives < 1) {
    return {internal::kNaN, internal::kNaN};
  }
  const double error = estimate.standard_error;
  const double degrees = estimate.degrees_of_freedom();
  if (!(error > 0) || area <= 0 || area >= 1 || !(degrees > 0)) {
    return newcombe_interval(std::min(std::max(area, 0.0), 1.0),
                             estimate.counted_positives(),
                             estimate.counted_negatives(), level);
  }
  const double t = intervals::student_t_quantile(0.5 + level / 2, degrees);
  return intervals::scaled_ends(area, error, t, {0, 1});
}

IntervalBounds delong_newcombe_interval(const AreaEstimate& estimate,
                                        double level) {
  const IntervalBounds delong = delong_interval(estimate, level);
  if (delong.low != delong.low) return delong;
  const IntervalBounds newcombe = newcombe_interval(
      std::min(std::max(estimate.area, 0.0), 1.0), estimate.counted_positives(),
      estimate.counted_negatives(), level);
  return {std::min(delong.low, newcombe.low),
          std::max(delong.high, newcombe.high)};
}

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
  result.low = result.high = result.p_value = result.standard_error =
      internal::kNaN;
  if (!(std::min(a.positives, a.negatives) >= 2)) return result;
  const at::Tensor positive = target.cpu().eq(1);
  const auto of_first = placements_of(first.cpu().to(at::kDouble), positive);
  const auto of_second = placements_of(second.cpu().to(at::kDouble), positive);
  result.standard_error =
      std::sqrt(variance_of_mean(of_first.positives.sub(of_second.positives)) +
                variance_of_mean(of_first.negatives.sub(of_second.negatives)));
  // Below, differences of placements are only rounding.
  constexpr double kRounding = 1e-12;
  if (!(result.standard_error > kRounding)) {
    if (result.difference == 0) result.p_value = 1;
    return result;
  }
  const double width =
      intervals::normal_quantile(0.5 + level / 2) * result.standard_error;
  result.low = result.difference - width;
  result.high = result.difference + width;
  result.p_value = 2 * intervals::normal_cdf(-std::abs(result.difference) /
                                             result.standard_error);
  return result;
}

}  // namespace tally
