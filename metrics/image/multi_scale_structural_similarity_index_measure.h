#pragma once

#include <vector>

#include "tally/metrics/image/structural_similarity_index_measure.h"

namespace tally {

/// How negative factors are treated, whose powers are not real.
enum class FactorRule {
  kRelu,    ///< they count as 0
  kSimple,  ///< all factors f become (f + 1) / 2
  kNone,    ///< the image's score is NaN
};

template <>
struct EnumNames<FactorRule> {
  static constexpr const char* kNames[] = {"relu", "simple", "none"};
};

/// Options of MultiScaleStructuralSimilarityIndexMeasure.
///
/// Example:
///     MultiScaleStructuralSimilarityIndexMeasure ms_ssim(
///         MultiScaleStructuralSimilarityIndexMeasureOptions(1).betas(
///             {0.3, 0.3, 0.4}));
struct MultiScaleStructuralSimilarityIndexMeasureOptions
    : StructuralOptions<MultiScaleStructuralSimilarityIndexMeasureOptions> {
  /// The difference of the largest and the smallest value that an image can
  /// have, above 0: 1 or 255, say.
  MultiScaleStructuralSimilarityIndexMeasureOptions(double data_range)
      : StructuralOptions(data_range) {}
  explicit MultiScaleStructuralSimilarityIndexMeasureOptions(internal::Unset)
      : StructuralOptions(0) {}

  /// The exponents of the scales, from the images' own on; above 0, at most 16.
  /// Default: 0.0448, 0.2856, 0.3001, 0.2363, 0.1333.
  TORCH_ARG(std::vector<double>, betas) = {0.0448, 0.2856, 0.3001, 0.2363,
                                           0.1333};
  TORCH_ARG(FactorRule, normalize) = FactorRule::kRelu;

 public:
  void visit(OptionVisitor& v) {
    v("betas", betas_, "Exponents of the scales, the original scale first.");
    v("normalize", normalize_, "How factors below 0 are handled.");
    StructuralOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The score of MultiScaleStructuralSimilarityIndexMeasure.
class MultiScaleSimilarity : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "MultiScaleSimilarity";
  static constexpr const auto& kInputs = internal::image::kVolumeInputs;
  using Options = MultiScaleStructuralSimilarityIndexMeasureOptions;
  explicit MultiScaleSimilarity(const Options& options);

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;
  std::optional<double> data_range() const override { return rule_.data_range; }
  bool takes_any_dtype() const override { return true; }

 private:
  internal::image::StructuralRule rule_;
  std::vector<double> betas_;
  FactorRule normalize_;
};

/// Multi-scale structural similarity (MS-SSIM) of images.
///
///     product over scales i < M of contrast_i^beta_i, times SSIM_M^beta_M
///
/// for each channel, with means over its windows (see
/// StructuralSimilarityIndexMeasure); each scale halves the images by averaging
/// 2 x 2 pixels, without an odd last row or column. Averaged over channels,
/// then over images. Negative factors count as 0 unless `normalize` says
/// otherwise. update(preds, target): [N, C, H, W], or volumes [N, C, D, H, W],
/// of the same shape; any real dtypes. With the defaults each side has at least
/// 176 pixels. Result: 0-dim float64, in [0, 1] for each image, 1 for equal
/// ones; NaN without images. State: the sum in float64 and the number of
/// images, merged by addition. NaN and infinities: give NaN; NanPolicy::kIgnore
/// skips images with NaN. Errors: c10::ValueError for other or different
/// shapes, for images whose smallest scale does not hold a window, for NaN with
/// NanPolicy::kError, and for values of the target, or of integer preds,
/// further apart than data_range (floating-point preds, such as those of a
/// network that learns, may leave it; unchecked without validate_args);
/// c10::TypeError for complex or sparse inputs. Differentiable in preds and
/// target; a score of 0 has a gradient of 0. Source: Wang, Simoncelli and Bovik
/// 2003.
///
/// Example:
///     MultiScaleStructuralSimilarityIndexMeasure ms_ssim(/*data_range=*/1.0);
///     ms_ssim.update(at::rand({2, 3, 192, 192}), at::rand({2, 3, 192, 192}));
///     double value = ms_ssim.compute().item<double>();
class MultiScaleStructuralSimilarityIndexMeasure final
    : public MetricOf<MultiScaleStructuralSimilarityIndexMeasure,
                      ImageScores<MultiScaleSimilarity>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName =
      "MultiScaleStructuralSimilarityIndexMeasure";
  static constexpr MetricSummary kSummary{
      "Structural similarity in several scales (MS-SSIM).",
      "[0, 1]",
      "data_range=1",
      "ms-ssim, msssim",
      R"(l_M \prod_{s=1}^{M} cs_s^{\beta_s})",
      "Wang, Simoncelli and Bovik 2003"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MultiScaleStructuralSimilarityIndexMeasure,
                               ImageScores<MultiScaleSimilarity>, at::Tensor>;

}  // namespace tally
