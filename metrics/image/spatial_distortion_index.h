#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/image/universal_image_quality_index.h"

namespace tally {

/// Options of SpatialDistortionIndex, and of metrics made of it.
template <class Self>
struct SpatialOptions : UniversalOptions<Self> {
  TALLY_INHERITED_ARG(Self, std::int64_t, norm_order) = 1;
  /// The size of the windows over which pan is averaged before its resolution
  /// is reduced.
  TALLY_INHERITED_ARG(Self, std::int64_t, window_size) = 7;

 public:
  void visit(OptionVisitor& v) {
    v("norm_order", norm_order_, internal::words::kNormOrder);
    v("window_size", window_size_, internal::words::kKernelSize);
    UniversalOptions<Self>::visit(v);
  }
  void validate(const char* metric) const {
    internal::image::check_window_option(metric, "norm_order", norm_order_);
    internal::image::check_window_option(metric, "window_size", window_size_);
    UniversalOptions<Self>::validate(metric);
  }
};

/// Options of SpatialDistortionIndex.
///
/// Example:
///     SpatialDistortionIndex d_s(
///         SpatialDistortionIndexOptions().norm_order(2));
struct SpatialDistortionIndexOptions
    : SpatialOptions<SpatialDistortionIndexOptions> {};

namespace internal::image {

/// What the spatial distortion takes of the options.
struct SpatialRule {
  Taps taps;
  std::int64_t norm_order, window_size;

  template <class Self>
  explicit SpatialRule(const SpatialOptions<Self>& options)
      : taps(options.taps()),
        norm_order(options.norm_order()),
        window_size(options.window_size()) {}
  /// Of preds, ms, pan and, optionally, pan_lr.
  void check(Tensors images) const;
  /// D_s of each image, float64 [N].
  at::Tensor distortion(Tensors images) const;
};

inline constexpr InputInfo kFusionInputs[] = {
    {"preds", InputKind::kReal, "real sharpened images [N, C, H, W]"},
    {"ms", InputKind::kReal, "real original images [N, C, h, w]"},
    {"pan", InputKind::kReal, "real panchromatic images [N, C or 1, H, W]"},
    {"pan_lr", InputKind::kReal,
     "the same, [N, C or 1, h, w]; default: computed", true}};

}  // namespace internal::image

/// The score of SpatialDistortionIndex.
class SpatialDistortion : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "SpatialDistortion";
  using Options = SpatialDistortionIndexOptions;
  explicit SpatialDistortion(const Options& options) : rule_(options) {}

  void check(internal::image::Tensors images) const override {
    rule_.check(images);
  }
  at::Tensor scores(internal::image::Tensors images) const override {
    return rule_.distortion(images);
  }

 private:
  internal::image::SpatialRule rule_;
};

/// The observer of metrics of sharpened images, by such a measure.
template <class Measure>
class FusionScores {
 public:
  static constexpr const char* kName = Measure::kName;
  static constexpr const auto& kInputs = internal::image::kFusionInputs;
  static constexpr const char* kUnit = "image";
  using Options = typename Measure::Options;
  using State = ImageScoresState;

  FusionScores(const Options& options, const MetricOptions& metric_options)
      : measure_(options), rules_(metric_options) {}

  State observe(const at::Tensor& preds, const at::Tensor& ms,
                const at::Tensor& pan, const at::Tensor& pan_lr = {}) const {
    const at::Tensor all[] = {preds, ms, pan, pan_lr};
    return internal::image::observe_images(
        measure_, internal::image::Tensors(all, pan_lr.defined() ? 4 : 3),
        rules_);
  }

 private:
  Measure measure_;
  internal::image::ImageRules rules_;
};

/// The spatial distortion index (D_s) of images sharpened by a panchromatic
/// image: how much the similarity of their channels to that image differs from
/// the similarity at low resolution.
///
///     (mean over channels of |Q(p_c, pan_c) - Q(ms_c, pan_lr_c)|^q)^(1 / q)
///
/// for q = norm_order, with the universal quality index Q (see
/// UniversalImageQualityIndex, which also has its options) of each image;
/// averaged over images. By default, pan_lr is pan averaged over windows and
/// resized bilinearly, without antialiasing.
/// update(preds, ms, pan, pan_lr = {}): sharpened images [N, C, H, W], their
/// originals [N, C, h, w], panchromatic images [N, C or 1, H, W] and, of low
/// resolution, [N, C or 1, h, w]; any real dtypes. H and W are multiples of h
/// and w.
/// Result: 0-dim float64, in [0, 2] for each image; NaN without images.
/// State: the sum in float64 and the number of images, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the image.
/// Errors: c10::ValueError for other shapes, for images smaller than a window,
/// and for NaN with NanPolicy::kError; c10::TypeError for complex or sparse
/// inputs.
/// Differentiable in all inputs; a distortion of 0 has a gradient of 0.
/// Source: Alparone et al. 2008.
///
/// Example:
///     SpatialDistortionIndex d_s;
///     d_s.update(at::rand({2, 4, 32, 32}), at::rand({2, 4, 16, 16}),
///                at::rand({2, 1, 32, 32}));
///     double value = d_s.compute().item<double>();
class SpatialDistortionIndex final
    : public MetricOf<SpatialDistortionIndex, FusionScores<SpatialDistortion>,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SpatialDistortionIndex";
  static constexpr MetricSummary kSummary{
      "Change of the similarity to a panchromatic image (D_s).",
      "[0, 2]",
      "",
      "d_s, spatial distortion",
      R"(\left( \frac{1}{C} \sum_i |Q(\hat x_i, pan) - Q(x_i, pan_{low})|^q \right)^{1/q})",
      "Alparone et al. 2008"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<SpatialDistortionIndex,
                               FusionScores<SpatialDistortion>, at::Tensor>;

}  // namespace tally
