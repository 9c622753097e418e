#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/options.h"
#include "tally/metrics/segmentation/inputs/class_masks.h"
#include "tally/metrics/segmentation/kernels/surface_distances.h"
#include "tally/metrics/segmentation/options/segmentation_options.h"
#include "tally/metrics/segmentation/options/segmentation_score.h"
#include "tally/state/fields.h"

namespace tally {

/// What the surface of a segmentation is.
enum class Surface {
  /// Its places that have a neighbor outside, of 6, in an image of 4; each
  /// counts once. As in MONAI and MedPy.
  kVoxel,
  /// Elements of area, in an image of length, at the corners between places;
  /// each counts by its size. As in DeepMind's surface-distance.
  kElement,
};

template <>
struct EnumNames<Surface> {
  static constexpr const char* kNames[] = {"voxel", "element"};
};

/// How far two places are from each other, of their distances along the axes.
enum class DistanceMetric {
  kEuclidean,   ///< the root of the sum of squares
  kChessboard,  ///< the largest
  kTaxicab,     ///< the sum
};

template <>
struct EnumNames<DistanceMetric> {
  static constexpr const char* kNames[] = {"euclidean", "chessboard",
                                           "taxicab"};
};

/// Options of metrics of surfaces.
template <class Self>
struct SurfaceOptions : SegmentationOptions<Self> {
  explicit SurfaceOptions(std::int64_t num_classes)
      : SegmentationOptions<Self>(/*include_background=*/false),
        num_classes_(num_classes) {}

  /// Labels are 0 to num_classes - 1.
  TALLY_INHERITED_ARG(Self, std::int64_t, num_classes);
  /// How far places are from each other along each axis; a number for each
  /// dimension of the samples. Default: 1 along all.
  TALLY_INHERITED_ARG(Self, std::optional<std::vector<double>>,
                      spacing) = std::nullopt;
  /// Whether there is a value for each class.
  TALLY_INHERITED_ARG(Self, bool, per_class) = false;

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_, OptionRole::kSize,
      internal::words::kNumClasses);
    SegmentationOptions<Self>::visit(v);
    v("absent", this->absent_, OptionRole::kValue, internal::words::kAbsent);
    v("spacing", spacing_, "Spacing along each axis, as [1, 0.5]; none: 1.");
    v("per_class", per_class_, OptionRole::kValue, internal::words::kPerClass);
  }
  void validate(const char* metric) const {
    internal::segmentation::check_num_classes(metric, num_classes_);
    internal::segmentation::check_spacing(metric, spacing_);
  }
};

/// The same where surfaces may be of several kinds.
template <class Self>
struct SurfaceKindOptions : SurfaceOptions<Self> {
  using SurfaceOptions<Self>::SurfaceOptions;

  TALLY_INHERITED_ARG(Self, Surface, surface) = Surface::kVoxel;
  TALLY_INHERITED_ARG(Self, DistanceMetric,
                      distance_metric) = DistanceMetric::kEuclidean;

 public:
  void visit(OptionVisitor& v) {
    SurfaceOptions<Self>::visit(v);
    v("surface", surface_,
      "Border pixels, or surface elements with their area.");
    v("distance_metric", distance_metric_, "Distance between two pixels.");
  }
};

/// The state of metrics of surfaces, for each class: a case is a class in a
/// sample.
struct SurfaceScoresState {
  std::int64_t nan_samples = 0;  // with NaN, if that propagates
  at::Tensor sums;               // float64 [C]: of cases with both surfaces
  at::Tensor cases;              // int64 [3, C]: with both, one, no surface

  void fields(Fields& f) {
    f("nan_samples", nan_samples)("sums", sums)("cases", cases);
  }
};

namespace internal::segmentation {

/// How inputs become surfaces.
struct SurfaceInputs {
  MaskFormat format;
  SurfaceKind kind;
  GridDistance distance;
  std::optional<std::vector<double>> spacing;

  /// What results depend on, besides the inputs.
  std::string key() const;
};

/// The surfaces of a batch: of all classes of the first sample, of the next.
struct BatchSurfaces {
  std::int64_t classes = 0;
  std::int64_t nan_samples = 0;
  std::vector<SurfacePair> cases;
  /// Of a sample.
  std::vector<std::int64_t> sizes;
};

/// Of members of a collection: once for all that ask the same. c10::ValueError
/// for samples that do not have 2 or 3 dimensions, or as many as spacing has
/// numbers, and what ClassMasks says.
std::shared_ptr<const BatchSurfaces> batch_surfaces(const at::Tensor& preds,
                                                    const at::Tensor& target,
                                                    const SurfaceInputs& how);

/// The sums of `scores`, one for each case (whatever, where a surface lacks),
/// and how many cases there are of each kind.
SurfaceScoresState sum_cases(const BatchSurfaces& surfaces,
                             const std::vector<double>& scores);

/// Distances count as within a tolerance up to so many times it.
constexpr double kToleranceSlack = 1 + 1e-6;

/// What cases are worth that lack a surface.
struct CaseValues {
  double one_sided;
  AbsentClass absent;
};

/// The mean over all cases, or over those of each class.
SegmentationScore mean_of_cases(const SurfaceScoresState& state,
                                const CaseValues& values, bool per_class,
                                std::int64_t classes);

/// The value of a metric, of which a case with one surface is worth
/// `one_sided`.
template <class Options>
SegmentationScore score_of(const SurfaceScoresState& state,
                           const Options& options, double one_sided) {
  return with_cases(
      mean_of_cases(
          state, {one_sided, options.absent()}, options.per_class(),
          counted_classes(options.num_classes(), options.include_background())),
      options.count_cases());
}

/// A measure whose options are SurfaceKindOptions.
template <class OptionsOfMeasure>
struct SurfaceMeasure {
  using Options = OptionsOfMeasure;

  static SurfaceKind kind(const Options& options) {
    return options.surface() == Surface::kVoxel ? SurfaceKind::kVoxel
                                                : SurfaceKind::kElement;
  }
  static GridDistance distance(const Options& options) {
    // Both count the same from 0.
    return static_cast<GridDistance>(options.distance_metric());
  }
};

}  // namespace internal::segmentation

/// Scores cases by `Measure`, which has kName, Options, a constructor from the
/// options and
///     static SurfaceKind kind(const Options&);
///     static GridDistance distance(const Options&);
///     // Of a case with both surfaces, in a sample of these sizes.
///     double operator()(const SurfacePair&, at::IntArrayRef sizes) const;
/// In the .cc file of the metric: #include surface_scores_impl.h, and
/// `template class SurfaceScores<Measure>;`.
template <class Measure>
class SurfaceScores {
 public:
  static constexpr const char* kName = Measure::kName;
  static constexpr const auto& kInputs = internal::segmentation::kMaskInputs;
  static constexpr const char* kUnit = "image";
  using Options = typename Measure::Options;
  using State = SurfaceScoresState;

  SurfaceScores(const Options& options, const MetricOptions& metric_options)
      : measure_(options),
        inputs_{{options.input_format(), options.num_classes(),
                 options.include_background(), metric_options.nan_policy()},
                Measure::kind(options),
                Measure::distance(options),
                options.spacing()} {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  Measure measure_;
  internal::segmentation::SurfaceInputs inputs_;
};

}  // namespace tally
