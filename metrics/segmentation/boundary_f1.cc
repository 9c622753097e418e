#include "tally/metrics/segmentation/boundary_f1.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/segmentation/states/surface_scores_impl.h"

namespace tally {
namespace {

namespace segmentation = internal::segmentation;

// Of the diagonal, as in DAVIS.
constexpr double kTolerance = 0.008;

double near_fraction(const segmentation::SurfacePoints& points, double most) {
  const auto near =
      std::count_if(points.distances.begin(), points.distances.end(),
                    [most](double distance) { return distance <= most; });
  return static_cast<double>(near) /
         static_cast<double>(points.distances.size());
}

}  // namespace

void BoundaryF1Options::validate(const char* metric) const {
  SurfaceOptions::validate(metric);
  TORCH_CHECK_VALUE(
      !tolerance_ || (*tolerance_ >= 0 && std::isfinite(*tolerance_)), metric,
      ": expected a finite tolerance of at least 0, got ", *tolerance_);
  TORCH_CHECK_VALUE(tolerance_ || !spacing_, metric,
                    ": expected a tolerance beside spacing, got none, which "
                    "counts places");
}

double BoundaryMatch::operator()(const segmentation::SurfacePair& pair,
                                 at::IntArrayRef sizes) const {
  double square = 0;
  for (const std::int64_t size : sizes) {
    square += static_cast<double>(size) * static_cast<double>(size);
  }
  const double tolerance =
      tolerance_.value_or(std::ceil(kTolerance * std::sqrt(square)));
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

}  // namespace tally
