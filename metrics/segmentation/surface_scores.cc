#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/segmentation/average_symmetric_surface_distance.h"
#include "tally/metrics/segmentation/boundary_f1.h"
#include "tally/metrics/segmentation/hausdorff_distance.h"
#include "tally/metrics/segmentation/kernels/surface_distances.h"
#include "tally/metrics/segmentation/normalized_surface_distance.h"
#include "tally/metrics/segmentation/states/surface_scores_impl.h"

namespace tally {
namespace {

namespace segmentation = internal::segmentation;
using Points = segmentation::SurfacePoints;

// Of the diagonal, as in DAVIS.
constexpr double kBoundaryTolerance = 0.008;

double largest(const Points& points) {
  return *std::max_element(points.distances.begin(), points.distances.end());
}

double percentile_of_points(std::initializer_list<const Points*> parts,
                            double percent) {
  if ((*parts.begin())->sizes.empty()) {
    std::vector<double> all;
    for (const Points* const points : parts) {
      all.insert(all.end(), points->distances.begin(), points->distances.end());
    }
    return segmentation::percentile(std::move(all), percent);
  }
  std::size_t count = 0;
  for (const Points* const points : parts) count += points->distances.size();
  std::vector<segmentation::Weighted> all;
  all.reserve(count);
  for (const Points* const points : parts) {
    for (std::size_t i = 0; i < points->distances.size(); ++i) {
      all.push_back({points->distances[i], points->sizes[i]});
    }
  }
  return segmentation::weighted_percentile(std::move(all), percent);
}

double near_fraction(const Points& points, double most) {
  const auto near =
      std::count_if(points.distances.begin(), points.distances.end(),
                    [most](double distance) { return distance <= most; });
  return static_cast<double>(near) /
         static_cast<double>(points.distances.size());
}

}  // namespace

void AverageSymmetricSurfaceDistanceOptions::validate(
    const char* metric) const {
  SurfaceKindOptions::validate(metric);
  segmentation::check_empty_penalty(metric, empty_penalty_);
}

double AverageDistance::operator()(const segmentation::SurfacePair& pair,
                                   at::IntArrayRef) const {
  double sum = 0, all = 0;
  for (const auto* const points : {&pair.preds, &pair.target}) {
    for (std::size_t i = 0; i < points->distances.size(); ++i) {
      sum += points->size(i) * points->distances[i];
      all += points->size(i);
    }
  }
  return sum / all;
}

template class SurfaceScores<AverageDistance>;

SegmentationScore AverageSymmetricSurfaceDistance::evaluate(
    const State& state) const {
  return segmentation::score_of(
      state, options(),
      options().empty_penalty().value_or(internal::kInfinity));
}

void HausdorffDistanceOptions::validate(const char* metric) const {
  SurfaceKindOptions::validate(metric);
  TORCH_CHECK_VALUE(!percentile_ || (*percentile_ >= 0 && *percentile_ <= 100),
                    metric, ": expected percentile from 0 to 100, got ",
                    *percentile_);
  segmentation::check_empty_penalty(metric, empty_penalty_);
}

double LargestDistance::operator()(const segmentation::SurfacePair& pair,
                                   at::IntArrayRef) const {
  if (!percentile_) {
    return directed_ ? largest(pair.preds)
                     : std::max(largest(pair.preds), largest(pair.target));
  }
  if (directed_) return percentile_of_points({&pair.preds}, *percentile_);
  if (percentile_of_ == PercentileOf::kPooled) {
    return percentile_of_points({&pair.preds, &pair.target}, *percentile_);
  }
  return std::max(percentile_of_points({&pair.preds}, *percentile_),
                  percentile_of_points({&pair.target}, *percentile_));
}

template class SurfaceScores<LargestDistance>;

SegmentationScore HausdorffDistance::evaluate(const State& state) const {
  return segmentation::score_of(
      state, options(),
      options().empty_penalty().value_or(internal::kInfinity));
}

void NormalizedSurfaceDistanceOptions::validate(const char* metric) const {
  SurfaceKindOptions::validate(metric);
  TORCH_CHECK_VALUE(tolerance_ >= 0 && std::isfinite(tolerance_), metric,
                    ": expected a finite tolerance of at least 0, got ",
                    tolerance_);
}

double NearFraction::operator()(const segmentation::SurfacePair& pair,
                                at::IntArrayRef) const {
  const double most = tolerance_ * segmentation::kToleranceSlack;
  double near = 0, all = 0;
  for (const auto* const points : {&pair.preds, &pair.target}) {
    for (std::size_t i = 0; i < points->distances.size(); ++i) {
      const double size = points->size(i);
      if (points->distances[i] <= most) near += size;
      all += size;
    }
  }
  return near / all;
}

template class SurfaceScores<NearFraction>;

SegmentationScore NormalizedSurfaceDistance::evaluate(
    const State& state) const {
  return segmentation::score_of(state, options(), /*one_sided=*/0);
}

void BoundaryF1Options::validate(const char* metric) const {
  SurfaceOptions::validate(metric);
  TORCH_CHECK_VALUE(
      !tolerance_ || (*tolerance_ >= 0 && std::isfinite(*tolerance_)), metric,
      ": expected a finite tolerance of at least 0, got ", *tolerance_);
  TORCH_CHECK_VALUE(
      tolerance_ || !spacing_, metric,
      ": expected a tolerance together with spacing, got none, which "
      "counts in pixels");
}

double BoundaryMatch::operator()(const segmentation::SurfacePair& pair,
                                 at::IntArrayRef sizes) const {
  double square = 0;
  for (const std::int64_t size : sizes) {
    square += static_cast<double>(size) * static_cast<double>(size);
  }
  const double tolerance =
      tolerance_.value_or(std::ceil(kBoundaryTolerance * std::sqrt(square)));
  const double most = tolerance * segmentation::kToleranceSlack;
  const double precision = near_fraction(pair.preds, most);
  const double recall = near_fraction(pair.target, most);
  const double sum = precision + recall;
  return sum == 0 ? 0 : 2 * precision * recall / sum;
}

template class SurfaceScores<BoundaryMatch>;

SegmentationScore BoundaryF1::evaluate(const State& state) const {
  return segmentation::score_of(state, options(), /*one_sided=*/0);
}

template class MetricOf<AverageSymmetricSurfaceDistance,
                        SurfaceScores<AverageDistance>, SegmentationScore>;
template class MetricOf<BoundaryF1, SurfaceScores<BoundaryMatch>,
                        SegmentationScore>;
template class MetricOf<HausdorffDistance, SurfaceScores<LargestDistance>,
                        SegmentationScore>;
template class MetricOf<NormalizedSurfaceDistance, SurfaceScores<NearFraction>,
                        SegmentationScore>;

}  // namespace tally
