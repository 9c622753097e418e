#pragma once

#include <limits>

#include "tally/metrics/metric_of.h"
#include "tally/metrics/segmentation/states/surface_scores.h"

namespace tally {

/// Options of NormalizedSurfaceDistance.
///
/// Example:
///     NormalizedSurfaceDistance nsd(
///         NormalizedSurfaceDistanceOptions(5, /*tolerance=*/2).surface(
///             Surface::kElement));
struct NormalizedSurfaceDistanceOptions
    : SurfaceKindOptions<NormalizedSurfaceDistanceOptions> {
  /// The number of classes, at least 1, and the tolerance.
  template <class Count, RequireCount<Count> = 0>
  NormalizedSurfaceDistanceOptions(Count num_classes, double tolerance)
      : SurfaceKindOptions(static_cast<std::int64_t>(num_classes)),
        tolerance_(tolerance) {}
  explicit NormalizedSurfaceDistanceOptions(internal::Unset)
      : SurfaceKindOptions(0),
        tolerance_(std::numeric_limits<double>::quiet_NaN()) {}

  /// How far from the other surface a point may be, in the unit of spacing.
  TORCH_ARG(double, tolerance);

 public:
  void visit(OptionVisitor& v) {
    SurfaceKindOptions::visit(v);
    v("tolerance", tolerance_,
      "Largest distance that counts as on the other surface.");
  }
  void validate(const char* metric) const;
};

/// What NormalizedSurfaceDistance is of a case.
class NearFraction : public internal::segmentation::SurfaceMeasure<
                         NormalizedSurfaceDistanceOptions> {
 public:
  static constexpr const char* kName = "NearFraction";

  explicit NearFraction(const Options& options)
      : tolerance_(options.tolerance()) {}
  double operator()(const internal::segmentation::SurfacePair& pair,
                    at::IntArrayRef sizes) const;

 private:
  double tolerance_;
};
extern template class SurfaceScores<NearFraction>;

/// The normalized surface distance, or surface Dice: the fraction of both
/// surfaces that is at most the tolerance away from the other one.
///
///     (size of p with min_t |p - t| <= tolerance, and of t likewise) /
///     (size of all p and t)
///
/// for points p and t of both surfaces, of size 1, or with Surface::kElement
/// their area (in an image their length). A distance of tolerance * (1 + 1e-6)
/// is within, so that three steps of 0.1 are 0.3.
/// update(preds, target): as in HausdorffDistance, and so are state, NaN and
/// errors.
/// Result: SegmentationScore, 0-dim, or with per_class [C]; float64 in [0, 1],
/// the mean over cases. A class in one input alone is 0, one in neither is no
/// case; `absent` makes that 0 or 1. NaN without cases, also before any update.
/// Not differentiable. Source: Nikolov et al. 2018.
///
/// Example:
///     NormalizedSurfaceDistance nsd({2, /*tolerance=*/1.5});
///     nsd.update(at::randint(0, 2, {1, 2, 32, 32}),
///                at::randint(0, 2, {1, 2, 32, 32}));
///     double value = nsd.compute().value.item<double>();
class NormalizedSurfaceDistance final
    : public MetricOf<NormalizedSurfaceDistance, SurfaceScores<NearFraction>,
                      SegmentationScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "NormalizedSurfaceDistance";
  static constexpr MetricSummary kSummary{
      "The fraction of two surfaces that lies near the other one.",
      "[0, 1]",
      "num_classes=5, tolerance=1",
      "nsd, surface dice, normalized surface dice",
      R"(\frac{|\{a : d(a, B) \le \tau\}| + |\{b : d(b, A) \le \tau\}|}{|A| + |B|})",
      "Nikolov et al. 2018"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SegmentationScore evaluate(const State& state) const;
};

extern template class MetricOf<NormalizedSurfaceDistance,
                               SurfaceScores<NearFraction>, SegmentationScore>;

}  // namespace tally
