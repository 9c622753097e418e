#include "tally/metrics/image/video_structural_similarity_index_measure.h"

namespace tally {

namespace image = internal::image;

void VideoStructuralSimilarityIndexMeasureOptions::validate(
    const char* metric) const {
  image::StructuralRule::of(metric, *this);
}

FrameSimilarity::FrameSimilarity(const Options& options)
    : rule_(image::StructuralRule::of("FrameSimilarity", options)) {}

void FrameSimilarity::check(image::Tensors images) const {
  rule_.check(images);
}

at::Tensor FrameSimilarity::scores(image::Tensors images) const {
  return rule_.compare(images[0], images[1]).select(2, 0).mean(1);
}

at::Tensor VideoStructuralSimilarityIndexMeasure::evaluate(
    const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
