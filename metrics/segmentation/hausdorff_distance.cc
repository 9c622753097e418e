#include "tally/metrics/segmentation/hausdorff_distance.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "tally/metrics/segmentation/kernels/percentiles.h"
#include "tally/metrics/segmentation/states/surface_scores_impl.h"

namespace tally {
namespace {

namespace segmentation = internal::segmentation;
using Points = segmentation::SurfacePoints;

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

}  // namespace

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
  return segmentation::score_of(state, options(),
                                options().empty_penalty().value_or(
                                    std::numeric_limits<double>::infinity()));
}

}  // namespace tally
