#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/segmentation/states/surface_scores.h"

namespace tally {

/// Of which distances a percentile is taken.
enum class PercentileOf {
  kDirected,  ///< of those from each surface to the other; the larger counts
  kPooled,    ///< of both together
};

template <>
struct EnumNames<PercentileOf> {
  static constexpr const char* kNames[] = {"directed", "pooled"};
};

/// Options of HausdorffDistance.
///
/// Example:
///     HausdorffDistance
///     hd95(HausdorffDistanceOptions(5).percentile(95).spacing(
///         std::vector<double>{0.8, 0.8, 2}));
struct HausdorffDistanceOptions : SurfaceKindOptions<HausdorffDistanceOptions> {
  /// The number of classes, at least 1.
  template <class Count, RequireCount<Count> = 0>
  HausdorffDistanceOptions(Count num_classes)
      : SurfaceKindOptions(static_cast<std::int64_t>(num_classes)) {}
  explicit HausdorffDistanceOptions(internal::Unset) : SurfaceKindOptions(0) {}

  /// Whether only the distances from the predicted surface to the target's
  /// count.
  TORCH_ARG(bool, directed) = false;
  /// A percentile of the distances, from 0 to 100. Default: none, the largest.
  TORCH_ARG(std::optional<double>, percentile) = std::nullopt;
  TORCH_ARG(PercentileOf, percentile_of) = PercentileOf::kDirected;
  /// What a case is worth in which only one surface has points. Default: none,
  /// infinity.
  TORCH_ARG(std::optional<double>, empty_penalty) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    SurfaceKindOptions::visit(v);
    v("directed", directed_, "Only distances from preds to target.");
    v("percentile", percentile_,
      "Percentile of the distances, 0 to 100; none: the largest.");
    v("percentile_of", percentile_of_,
      "Percentile of each direction (the larger one), or of both.");
    v("empty_penalty", empty_penalty_, OptionRole::kValue,
      internal::words::kEmptyPenalty);
  }
  void validate(const char* metric) const;
};

/// What HausdorffDistance is of a case.
class LargestDistance
    : public internal::segmentation::SurfaceMeasure<HausdorffDistanceOptions> {
 public:
  static constexpr const char* kName = "LargestDistance";

  explicit LargestDistance(const Options& options)
      : directed_(options.directed()),
        percentile_(options.percentile()),
        percentile_of_(options.percentile_of()) {}
  double operator()(const internal::segmentation::SurfacePair& pair,
                    at::IntArrayRef sizes) const;

 private:
  bool directed_;
  std::optional<double> percentile_;
  PercentileOf percentile_of_;
};
extern template class SurfaceScores<LargestDistance>;

/// The Hausdorff distance between the surfaces of segmentations: how far the
/// farthest point of one is from the nearest of the other.
///
///     max(max_p min_t |p - t|, max_t min_p |p - t|)
///
/// for points p and t of both surfaces, or with `percentile` that of these
/// distances in place of their largest: linear between two of them; of
/// Surface::kElement the least distance up to which so much of the surface
/// lies. update(preds, target): as in DiceScore, samples of 2 or 3 dimensions;
/// what is outside of them is background. Result: SegmentationScore, 0-dim, or
/// with per_class [C] (by default without the background, class 0); float64 of
/// 0 or more, in the unit of `spacing`. The mean over cases, which are a class
/// in a sample each. A class that is in neither input of a sample is no case;
/// `absent` makes it 0 or 1. One that is in one input alone counts as infinity,
/// or `empty_penalty`. NaN without cases, also before any update. `cases`: how
/// many counted. State: sums in float64 and numbers of cases for each class,
/// merged by addition. Members of a collection that take surfaces alike
/// (classes, format, spacing, surface, distance_metric) find distances once.
/// NaN among scores: the result is NaN; NanPolicy::kIgnore skips the sample.
/// Errors: as in DiceScore; c10::ValueError for samples of other dimensions, or
/// not as many as `spacing` has numbers. Not differentiable.
/// Source: Huttenlocher, Klanderman and Rucklidge 1993; of elements: Nikolov et
/// al. 2018.
///
/// Example:
///     HausdorffDistance distance(
///         HausdorffDistanceOptions(2).input_format(SegmentationFormat::kIndex));
///     distance.update(at::randint(0, 2, {1, 32, 32}),
///                     at::randint(0, 2, {1, 32, 32}));
///     double value = distance.compute().value.item<double>();
class HausdorffDistance final
    : public MetricOf<HausdorffDistance, SurfaceScores<LargestDistance>,
                      SegmentationScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "HausdorffDistance";
  static constexpr MetricSummary kSummary{
      "The largest distance from one surface to the other.",
      "[0, inf]",
      "num_classes=5",
      "hd, hausdorff, percentile hausdorff",
      R"(\max \left( \max_{a \in A} d(a, B), \max_{b \in B} d(b, A) \right))",
      "Huttenlocher, Klanderman and Rucklidge 1993"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  SegmentationScore evaluate(const State& state) const;
};

extern template class MetricOf<
    HausdorffDistance, SurfaceScores<LargestDistance>, SegmentationScore>;

}  // namespace tally
