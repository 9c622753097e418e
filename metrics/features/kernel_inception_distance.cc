#include "tally/metrics/features/kernel_inception_distance.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/features/kernels/hash.h"
#include "tally/metrics/features/kernels/kernel_sums.h"

namespace tally {

namespace features = internal::features;

namespace {

void check_least(const char* metric, const char* option, std::int64_t least,
                 std::int64_t value) {
  TORCH_CHECK_VALUE(value >= least, metric, ": option '", option,
                    "': expected at least ", least, ", got ", value);
}

at::Tensor chosen(const features::OrderedRows& samples, std::uint64_t key,
                  std::int64_t size) {
  return samples.rows.index_select(0,
                                   features::subset_of(samples.ids, key, size));
}

}  // namespace

void KernelInceptionDistanceOptions::validate(const char* metric) const {
  check_least(metric, "subsets", 0, subsets_);
  check_least(metric, "subset_size", 2, subset_size_);
  check_least(metric, "degree", 1, degree_);
  TORCH_CHECK_VALUE(std::isfinite(gamma_.value_or(0)), metric,
                    ": option 'gamma': expected a finite number, got ",
                    gamma_.value_or(0));
  TORCH_CHECK_VALUE(std::isfinite(coef_), metric,
                    ": option 'coef': expected a finite number, got ", coef_);
}

SplitStatistics KernelInceptionDistance::evaluate(const State& state) const {
  const auto [real, generated] = features::ordered(state);
  const std::int64_t most = std::min(real.size(), generated.size());
  if (most < 2) return features::statistics_of({});
  const features::PolynomialKernel kernel{
      options().degree(),
      options().gamma().value_or(1 / static_cast<double>(real.rows.size(1))),
      options().coef()};
  if (options().subsets() == 0) {
    return features::statistics_of(
        {features::squared_discrepancy(real.rows, generated.rows, kernel)});
  }
  const std::int64_t size = std::min(options().subset_size(), most);
  std::vector<double> values;
  for (std::int64_t subset = 0; subset < options().subsets(); ++subset) {
    const std::uint64_t key =
        features::mixed(static_cast<std::uint64_t>(options().seed())) +
        2 * static_cast<std::uint64_t>(subset);
    values.push_back(features::squared_discrepancy(
        chosen(real, key, size), chosen(generated, key + 1, size), kernel));
  }
  return features::statistics_of(values);
}

}  // namespace tally
