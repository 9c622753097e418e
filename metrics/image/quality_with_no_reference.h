#pragma once

#include "tally/metrics/image/spatial_distortion_index.h"

namespace tally {

/// Options of QualityWithNoReference.
///
/// Example:
///     QualityWithNoReference qnr(QualityWithNoReferenceOptions().alpha(2));
struct QualityWithNoReferenceOptions
    : SpatialOptions<QualityWithNoReferenceOptions> {
  /// The exponent of the spectral part, at least 0.
  TORCH_ARG(double, alpha) = 1;
  /// The exponent of the spatial part, at least 0.
  TORCH_ARG(double, beta) = 1;

 public:
  void visit(OptionVisitor& v) {
    v("alpha", alpha_, "Exponent of the spectral part.");
    v("beta", beta_, "Exponent of the spatial part.");
    SpatialOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The score of QualityWithNoReference.
class SharpenedQuality : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "SharpenedQuality";
  using Options = QualityWithNoReferenceOptions;
  explicit SharpenedQuality(const Options& options)
      : rule_(options), alpha_(options.alpha()), beta_(options.beta()) {}

  void check(internal::image::Tensors images) const override {
    rule_.check(images);
  }
  at::Tensor scores(internal::image::Tensors images) const override;

 private:
  internal::image::SpatialRule rule_;
  double alpha_, beta_;
};

/// The quality with no reference (QNR) of images sharpened by a panchromatic
/// image.
///
///     max(0, 1 - D_lambda)^alpha max(0, 1 - D_s)^beta
///
/// of each image, with SpectralDistortionIndex (p = norm_order) and
/// SpatialDistortionIndex; averaged over images.
/// update(preds, ms, pan, pan_lr = {}): as of SpatialDistortionIndex.
/// Result: 0-dim float64, in [0, 1] for each image, 0 for a distortion of 1 or
/// more; NaN without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN and errors: as of SpatialDistortionIndex.
/// Differentiable in all inputs.
/// Source: Alparone et al. 2008.
///
/// Example:
///     QualityWithNoReference qnr;
///     qnr.update(at::rand({2, 4, 32, 32}), at::rand({2, 4, 16, 16}),
///                at::rand({2, 1, 32, 32}));
///     double value = qnr.compute().item<double>();
class QualityWithNoReference final
    : public MetricOf<QualityWithNoReference, FusionScores<SharpenedQuality>,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "QualityWithNoReference";
  static constexpr MetricSummary kSummary{
      "Quality of pansharpening without a reference (QNR).",
      "[0, 1]",
      "",
      "qnr",
      R"((1 - D_\lambda)^\alpha (1 - D_s)^\beta)",
      "Alparone et al. 2008"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<QualityWithNoReference,
                               FusionScores<SharpenedQuality>, at::Tensor>;

}  // namespace tally
