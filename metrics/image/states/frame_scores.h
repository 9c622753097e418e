#pragma once

#include "tally/metrics/image/states/image_scores.h"

namespace tally {

namespace internal::image {

inline constexpr InputInfo kVideoInputs[] = {
    {"preds", InputKind::kReal, "real videos [N, T, C, H, W]"},
    {"target", InputKind::kReal, "real videos [N, T, C, H, W]"}};

/// Scores videos by the means of a measure's scores of their frames.
class FrameMeasure : public ImageMeasure {
 public:
  /// The measure must outlive it.
  explicit FrameMeasure(const ImageMeasure& of_frames)
      : of_frames_(of_frames) {}
  void check(Tensors videos) const override;
  at::Tensor scores(Tensors videos) const override;
  std::optional<double> data_range() const override {
    return of_frames_.data_range();
  }
  bool takes_any_dtype() const override { return of_frames_.takes_any_dtype(); }

 private:
  const ImageMeasure& of_frames_;
};

}  // namespace internal::image

/// Scores the frames of videos by `Measure`, as ImageScores does images.
template <class Measure>
class FrameScores {
 public:
  static constexpr const char* kName = Measure::kName;
  static constexpr const auto& kInputs = internal::image::kVideoInputs;
  static constexpr const char* kUnit = "video";
  using Options = typename Measure::Options;
  using State = ImageScoresState;

  FrameScores(const Options& options, const MetricOptions& metric_options)
      : measure_(options), rules_(metric_options) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    return internal::image::observe_images(
        internal::image::FrameMeasure(measure_), {preds, target}, rules_);
  }

 private:
  Measure measure_;
  internal::image::ImageRules rules_;
};

}  // namespace tally
