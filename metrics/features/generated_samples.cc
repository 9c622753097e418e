#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/hash.h"
#include "tally/metrics/common/logit_kernels.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/features/frechet_inception_distance.h"
#include "tally/metrics/features/improved_precision_recall.h"
#include "tally/metrics/features/inception_score.h"
#include "tally/metrics/features/kernel_inception_distance.h"
#include "tally/metrics/features/kernels/frechet_distance.h"
#include "tally/metrics/features/kernels/kernel_sums.h"
#include "tally/metrics/features/kernels/neighborhoods.h"
#include "tally/metrics/features/memorization_informed_frechet_inception_distance.h"
#include "tally/metrics/features/split_statistics.h"
#include "tally/metrics/features/states/feature_samples.h"
#include "tally/state/number.h"

namespace tally {
namespace {

namespace classification = internal::classification;
namespace features = internal::features;
using features::Neighborhoods;
using features::Points;

// By so much rounding does not bring the generated samples near.
constexpr double kAlmost = 1e-9;
// Rows whose cosines are taken at a time.
constexpr std::int64_t kCosineRows = 1024;

// Of length 1, without those of zeros.
at::Tensor directions(const at::Tensor& rows) {
  const at::Tensor lengths = rows.square().sum(1).sqrt();
  const at::Tensor kept = lengths.gt(0).nonzero().squeeze(1);
  return rows.index_select(0, kept).div(
      lengths.index_select(0, kept).unsqueeze(1));
}

// NaN if either is empty.
double mean_distance(const at::Tensor& real, const at::Tensor& generated) {
  const at::Tensor from = directions(generated), to = directions(real).t();
  if (to.numel() == 0) return internal::kNaN;
  double sum = 0;
  for (std::int64_t row = 0; row < from.size(0); row += kCosineRows) {
    const at::Tensor nearest =
        from.narrow(0, row, std::min(kCosineRows, from.size(0) - row))
            .matmul(to)
            .abs()
            .amax(1);
    sum += nearest.neg().add(1).sum().item().toDouble();
  }
  return sum / static_cast<double>(from.size(0));
}

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

template <class T>
double largest_of(const T* row, std::int64_t classes) {
  constexpr int kLanes = 8;
  T largest[kLanes];
  std::fill_n(largest, kLanes, row[0]);
  internal::visit_in_lanes<kLanes>(classes, [&](std::int64_t c, int lane) {
    largest[lane] = std::max(largest[lane], row[c]);
  });
  return static_cast<double>(*std::max_element(largest, largest + kLanes));
}

// Of these rows of logits.
template <class T>
double inception_score(const T* logits, const std::int64_t* rows,
                       std::int64_t count, std::int64_t classes) {
  std::vector<double> means(static_cast<std::size_t>(classes));
  std::vector<double> from_most(means.size());
  std::vector<double> exponentials(means.size());
  const auto samples = static_cast<double>(count);
  double information = 0;  // the mean of sum p log p
  for (std::int64_t i = 0; i < count; ++i) {
    const T* const row = logits + rows[i] * classes;
    const double most = largest_of(row, classes);
    double* const power = from_most.data();
    double* const exponential = exponentials.data();
    for (std::int64_t c = 0; c < classes; ++c) {
      power[c] = static_cast<double>(row[c]) - most;
    }
    classification::exps(power, classes, exponential);
    const double sum = internal::sum_terms(
        classes, [=](std::int64_t c) { return exponential[c]; });
    // 0 log 0 is 0; NaN stays.
    const double products = internal::sum_terms(classes, [=](std::int64_t c) {
      return exponential[c] != 0 ? exponential[c] * power[c] : 0.0;
    });
    information += (products / sum - std::log(sum)) / samples;
    const double part = 1 / sum / samples;
    for (std::int64_t c = 0; c < classes; ++c) {
      means[c] += exponential[c] * part;
    }
  }
  double of_means = 0;
  for (const double mean : means) {
    if (mean != 0) of_means += mean * std::log(mean);
  }
  return std::exp(information - of_means);
}

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

SplitStatistics features::statistics_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / count;
  for (const double value : values) {
    squares += (value - mean) * (value - mean) / count;
  }
  if (values.empty()) mean = squares = std::nan("");
  return {internal::scalar_tensor(mean),
          internal::scalar_tensor(std::sqrt(squares))};
}

at::Tensor FrechetInceptionDistance::evaluate(const State& state) const {
  return features::frechet_distance(state.real, state.generated);
}

void MemorizationInformedFrechetInceptionDistanceOptions::validate(
    const char* metric) const {
  TORCH_CHECK_VALUE(cosine_distance_eps_ > 0 && cosine_distance_eps_ <= 1,
                    metric,
                    ": option 'cosine_distance_eps': expected a number in "
                    "(0, 1], got ",
                    cosine_distance_eps_);
}

at::Tensor MemorizationInformedFrechetInceptionDistance::evaluate(
    const State& state) const {
  const auto [real, generated] = features::ordered(state);
  if (real.size() < 2 || generated.size() < 2) {
    return internal::scalar_tensor(internal::kNaN);
  }
  const at::Tensor fid = features::frechet_distance(
      features::moments_of(real.rows), features::moments_of(generated.rows));
  const double distance = mean_distance(real.rows, generated.rows);
  const bool is_far =
      distance >= options().cosine_distance_eps() * (1 - kAlmost);
  return fid.div((is_far ? 1 : distance) + 1e-14);
}

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
        internal::mixed(static_cast<std::uint64_t>(options().seed())) +
        2 * static_cast<std::uint64_t>(subset);
    values.push_back(features::squared_discrepancy(
        chosen(real, key, size), chosen(generated, key + 1, size), kernel));
  }
  return features::statistics_of(values);
}

void InceptionScoreOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(splits_ > 0, metric,
                    ": option 'splits': expected at least 1, got ", splits_);
}

SplitStatistics InceptionScore::evaluate(const State& state) const {
  const auto samples = features::order_of(state.logits, state.ids);
  const std::int64_t rows = samples.size();
  if (rows == 0) return features::statistics_of({});
  const std::int64_t classes = samples.rows.size(1);
  // More parts than samples would leave some of them empty.
  const std::int64_t splits = std::min(options().splits(), rows);
  const auto* const order = samples.order.const_data_ptr<std::int64_t>();
  std::vector<double> scores(static_cast<std::size_t>(splits));
  internal::visit_values(samples.rows.contiguous(), [&](const auto* logits) {
    at::parallel_for(0, splits, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t split = begin; split < end; ++split) {
        const std::int64_t first = split * rows / splits;
        const std::int64_t last = (split + 1) * rows / splits;
        scores[split] =
            inception_score(logits, order + first, last - first, classes);
      }
    });
  });
  return features::statistics_of(scores);
}

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

template class MetricOf<FrechetInceptionDistance, FeatureMoments, at::Tensor>;
template class MetricOf<ImprovedPrecisionRecall, FeatureSamples,
                        PrecisionRecallOfFeatures,
                        ImprovedPrecisionRecallOptions>;
template class MetricOf<DensityCoverage, FeatureSamples,
                        DensityCoverageOfFeatures, DensityCoverageOptions>;
template class MetricOf<InceptionScore, LogitSamples, SplitStatistics,
                        InceptionScoreOptions>;
template class MetricOf<KernelInceptionDistance, FeatureSamples,
                        SplitStatistics, KernelInceptionDistanceOptions>;
template class MetricOf<MemorizationInformedFrechetInceptionDistance,
                        FeatureSamples, at::Tensor,
                        MemorizationInformedFrechetInceptionDistanceOptions>;

}  // namespace tally
