#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/segmentation/states/surface_scores.h"

namespace tally {

/// Options of AverageSymmetricSurfaceDistance.
///
/// Example:
///     AverageSymmetricSurfaceDistance distance(
///         AverageSymmetricSurfaceDistanceOptions(5).empty_penalty(100));
struct AverageSymmetricSurfaceDistanceOptions
    : SurfaceKindOptions<AverageSymmetricSurfaceDistanceOptions> {
  /// The number of classes, at least 1.
  template <class Count, RequireCount<Count> = 0>
  AverageSymmetricSurfaceDistanceOptions(Count num_classes)
      : SurfaceKindOptions(static_cast<std::int64_t>(num_classes)) {}
  explicit AverageSymmetricSurfaceDistanceOptions(internal::Unset)
      : SurfaceKindOptions(0) {}

  /// What a case is worth in which only one surface has points. Default: none,
  /// infinity.
  TORCH_ARG(std::optional<double>, empty_penalty) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    SurfaceKindOptions::visit(v);
    v("empty_penalty", empty_penalty_, OptionRole::kValue,
      internal::words::kEmptyPenalty);
  }
  void validate(const char* metric) const;
};

/// What AverageSymmetricSurfaceDistance is of a case.
struct AverageDistance : internal::segmentation::SurfaceMeasure<
                             AverageSymmetricSurfaceDistanceOptions> {
  static constexpr const char* kName = "AverageDistance";

  explicit AverageDistance(const Options&) {}
  double operator()(const internal::segmentation::SurfacePair& pair,
                    at::IntArrayRef sizes) const;
};
extern template class SurfaceScores<AverageDistance>;

/// The average distance between the surfaces of segmentations.
///
///     (sum_p s_p min_t |p - t| + sum_t s_t min_p |p - t|) /
///     (sum_p s_p + sum_t s_t)
///
/// for points p and t of both surfaces, of sizes s: 1, or with
/// Surface::kElement their area (in an image their length). Both surfaces count
/// by their size, so that it is not the mean of two averages. update(preds,
/// target): as in HausdorffDistance, and so are result, state, what is absent
/// or only in one input, NaN and errors. Not differentiable. Source: Heimann et
/// al. 2009; of elements: Nikolov et al. 2018.
///
/// Example:
///     AverageSymmetricSurfaceDistance distance(2);
///     distance.update(at::randint(0, 2, {1, 2, 32, 32}),
///                     at::randint(0, 2, {1, 2, 32, 32}));
///     double value = distance.compute().value.item<double>();
class AverageSymmetricSurfaceDistance final
    : public MetricOf<AverageSymmetricSurfaceDistance,
                      SurfaceScores<AverageDistance>, SegmentationScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "AverageSymmetricSurfaceDistance";
  static constexpr MetricSummary kSummary{
      "The average distance between two surfaces.", "[0, inf]", "num_classes=5",
      "assd, asd, average surface distance",
      R"(\frac{\sum_{a \in A} d(a, B) + \sum_{b \in B} d(b, A)}{|A| + |B|})"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  SegmentationScore evaluate(const State& state) const;
};

extern template class MetricOf<AverageSymmetricSurfaceDistance,
                               SurfaceScores<AverageDistance>,
                               SegmentationScore>;

}  // namespace tally
