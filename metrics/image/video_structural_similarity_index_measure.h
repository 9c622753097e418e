#pragma once

#include "tally/metrics/image/states/frame_scores.h"
#include "tally/metrics/image/structural_similarity_index_measure.h"

namespace tally {

/// Options of VideoStructuralSimilarityIndexMeasure.
///
/// Example:
///     VideoStructuralSimilarityIndexMeasure ssim(
///         VideoStructuralSimilarityIndexMeasureOptions(255).kernel_size(7));
struct VideoStructuralSimilarityIndexMeasureOptions
    : StructuralOptions<VideoStructuralSimilarityIndexMeasureOptions> {
  /// The difference of the largest and the smallest value that a frame can
  /// have, above 0: 1 or 255, say.
  VideoStructuralSimilarityIndexMeasureOptions(double data_range)
      : StructuralOptions(data_range) {}
  explicit VideoStructuralSimilarityIndexMeasureOptions(internal::Unset)
      : StructuralOptions(0) {}

  void validate(const char* metric) const;
};

/// The score of VideoStructuralSimilarityIndexMeasure.
class FrameSimilarity : public internal::image::ImageMeasure {
 public:
  static constexpr const char* kName = "FrameSimilarity";
  using Options = VideoStructuralSimilarityIndexMeasureOptions;
  explicit FrameSimilarity(const Options& options);

  void check(internal::image::Tensors images) const override;
  at::Tensor scores(internal::image::Tensors images) const override;
  std::optional<double> data_range() const override { return rule_.data_range; }
  bool takes_any_dtype() const override { return true; }

 private:
  internal::image::StructuralRule rule_;
};

/// The structural similarity of the frames of videos: of each frame by itself,
/// averaged over the frames of a video, then over videos. Windows do not reach
/// across frames, as those of StructuralSimilarityIndexMeasure do across the
/// slices of a volume; see there.
/// update(preds, target): [N, T, C, H, W] of the same shape, any real dtypes, T
/// at least 1; T may differ from batch to batch.
/// Result: 0-dim float64, in [-1, 1] for each video; NaN without videos.
/// State: the sum in float64 and the number of videos, merged by addition.
/// NaN and infinities: give NaN; NanPolicy::kIgnore skips videos with NaN.
/// Errors: c10::ValueError for other or different shapes, for frames smaller
/// than a window, for NaN with NanPolicy::kError, and for values of the target,
/// or of integer preds, further apart than data_range (floating-point preds,
/// such as those of a network that learns, may leave it; unchecked without
/// validate_args); c10::TypeError for complex or sparse inputs. Differentiable
/// in preds and target.
///
/// Example:
///     VideoStructuralSimilarityIndexMeasure ssim(/*data_range=*/1.0);
///     ssim.update(at::rand({2, 8, 3, 16, 16}), at::rand({2, 8, 3, 16, 16}));
///     double value = ssim.compute().item<double>();
class VideoStructuralSimilarityIndexMeasure final
    : public MetricOf<VideoStructuralSimilarityIndexMeasure,
                      FrameScores<FrameSimilarity>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "VideoStructuralSimilarityIndexMeasure";
  static constexpr MetricSummary kSummary{
      "Structural similarity of the frames of videos.",
      "[-1, 1]",
      "data_range=1",
      "video ssim",
      R"(\frac{1}{T} \sum_t SSIM(x_t, y_t))",
      "Wang et al. 2004"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<VideoStructuralSimilarityIndexMeasure,
                               FrameScores<FrameSimilarity>, at::Tensor>;

}  // namespace tally
