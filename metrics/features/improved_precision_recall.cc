#include "tally/metrics/features/improved_precision_recall.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "tally/metrics/features/kernels/neighborhoods.h"

namespace tally {

namespace features = internal::features;

namespace {

using features::Neighborhoods;
using features::Points;

std::vector<double> radii_of(const Points& points, std::int64_t k) {
  return points.size() > k ? points.radii(k) : std::vector<double>();
}

// Nothing without samples of both kinds, or if anything is not finite.
std::optional<Neighborhoods> neighborhoods_of(
    const FeatureSamples::State& state, std::int64_t k, bool of_both) {
  const auto [real, generated] = features::ordered(state);
  if (real.size() == 0 || generated.size() == 0) return std::nullopt;
  for (const at::Tensor& rows : {real.rows, generated.rows}) {
    if (!rows.isfinite().all().item().toBool()) return std::nullopt;
  }
  const at::Tensor origin = real.rows.select(0, 0);
  const Points real_points(real.rows, origin);
  const Points generated_points(generated.rows, origin);
  return features::neighborhoods(
      real_points, radii_of(real_points, k), generated_points,
      of_both ? radii_of(generated_points, k) : std::vector<double>());
}

void check_k(const char* metric, std::int64_t k) {
  TORCH_CHECK_VALUE(k > 0, metric, ": option 'k': expected at least 1, got ",
                    k);
}

// NaN of nothing.
at::Tensor part_of(std::int64_t count, std::size_t all) {
  return internal::scalar_tensor(static_cast<double>(count) /
                                 static_cast<double>(all));
}

at::Tensor part_of(const std::vector<bool>& flags) {
  return part_of(std::count(flags.begin(), flags.end(), true), flags.size());
}

}  // namespace

void ImprovedPrecisionRecallOptions::validate(const char* metric) const {
  check_k(metric, k_);
}

void DensityCoverageOptions::validate(const char* metric) const {
  check_k(metric, k_);
}

PrecisionRecallOfFeatures ImprovedPrecisionRecall::evaluate(
    const State& state) const {
  const auto near = neighborhoods_of(state, options().k(), /*of_both=*/true)
                        .value_or(Neighborhoods());
  const auto& around = near.real_around;
  return {part_of(std::count_if(around.begin(), around.end(),
                                [](std::int64_t count) { return count > 0; }),
                  around.size()),
          part_of(near.is_near_generated)};
}

DensityCoverageOfFeatures DensityCoverage::evaluate(const State& state) const {
  const auto near = neighborhoods_of(state, options().k(), /*of_both=*/false)
                        .value_or(Neighborhoods());
  std::int64_t pairs = 0;
  for (const std::int64_t count : near.real_around) pairs += count;
  return {part_of(pairs, near.real_around.size() *
                             static_cast<std::size_t>(options().k())),
          part_of(near.has_generated)};
}

}  // namespace tally
