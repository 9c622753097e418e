#include "tally/metrics/image/universal_image_quality_index.h"

#include "tally/metrics/image/kernels/universal_index.h"

namespace tally {

namespace image = internal::image;

void UniversalQuality::check(image::Tensors images) const {
  image::check_pairs(images);
  image::check_window(static_cast<std::int64_t>(taps_.size()), images[0]);
}

at::Tensor UniversalQuality::scores(image::Tensors images) const {
  return image::universal_index(images[0], images[1], taps_).mean(1);
}

at::Tensor UniversalImageQualityIndex::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
