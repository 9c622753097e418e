#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/segmentation/states/surface_scores.h"

namespace tally {

/// Options of BoundaryF1.
///
/// Example:
///     BoundaryF1
///     f1(BoundaryF1Options(2).tolerance(3).absent(AbsentClass::kOne));
struct BoundaryF1Options : SurfaceOptions<BoundaryF1Options> {
  /// The number of classes, at least 1.
  template <class Count, RequireCount<Count> = 0>
  BoundaryF1Options(Count num_classes)
      : SurfaceOptions(static_cast<std::int64_t>(num_classes)) {}
  explicit BoundaryF1Options(internal::Unset) : SurfaceOptions(0) {}

  /// How far from the other boundary a point may be, in the unit of spacing.
  /// Default: none, 0.008 of a sample's diagonal, rounded up to whole places,
  /// as in DAVIS; not with spacing.
  TORCH_ARG(std::optional<double>, tolerance) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    SurfaceOptions::visit(v);
    v("tolerance", tolerance_,
      "Largest distance; none: 0.008 of the diagonal, rounded up.");
  }
  void validate(const char* metric) const;
};

/// What BoundaryF1 is of a case.
class BoundaryMatch {
 public:
  static constexpr const char* kName = "BoundaryMatch";
  using Options = BoundaryF1Options;

  explicit BoundaryMatch(const Options& options)
      : tolerance_(options.tolerance()) {}
  static internal::segmentation::SurfaceKind kind(const Options&) {
    return internal::segmentation::SurfaceKind::kEdge;
  }
  static internal::segmentation::GridDistance distance(const Options&) {
    return internal::segmentation::GridDistance::kEuclidean;
  }
  double operator()(const internal::segmentation::SurfacePair& pair,
                    at::IntArrayRef sizes) const;

 private:
  std::optional<double> tolerance_;
};
extern template class SurfaceScores<BoundaryMatch>;

/// The F1 score of boundaries, by which DAVIS measures contours.
///
///     precision = points p with min_t |p - t| <= tolerance / all p
///     recall    = points t with min_p |p - t| <= tolerance / all t
///     2 precision recall / (precision + recall)
///
/// for points p and t of both boundaries. Those are the places that differ from
/// the next one along any axis or diagonal; unlike the surfaces of
/// HausdorffDistance, the edge of a sample is none. A distance of
/// tolerance * (1 + 1e-6) is within.
/// update(preds, target): as in HausdorffDistance, and so are state, NaN and
/// errors.
/// Result: SegmentationScore, 0-dim, or with per_class [C]; float64 in [0, 1],
/// the mean over cases. 0 if only one input has a boundary of the class; no
/// case if neither has, `absent` makes that 0 or 1 (DAVIS: 1). NaN without
/// cases, also before any update.
/// Not differentiable. Source: Perazzi et al. 2016.
///
/// Example:
///     BoundaryF1 f1(2);
///     f1.update(at::randint(0, 2, {1, 2, 32, 32}),
///               at::randint(0, 2, {1, 2, 32, 32}));
///     double value = f1.compute().value.item<double>();
class BoundaryF1 final
    : public MetricOf<BoundaryF1, SurfaceScores<BoundaryMatch>,
                      SegmentationScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BoundaryF1";
  static constexpr MetricSummary kSummary{
      "Precision and recall of boundaries, within a tolerance.",
      "[0, 1]",
      "num_classes=5",
      "bf1, boundary f1, bf score, davis",
      R"(\frac{2 P R}{P + R})",
      "Csurka et al. 2013"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SegmentationScore evaluate(const State& state) const;
};

extern template class MetricOf<BoundaryF1, SurfaceScores<BoundaryMatch>,
                               SegmentationScore>;

}  // namespace tally
