#include "tally/metrics/image/quality_with_no_reference.h"

#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/image/spectral_distortion_index.h"

namespace tally {

namespace image = internal::image;

void QualityWithNoReferenceOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(std::isfinite(alpha_) && alpha_ >= 0, metric,
                    ": expected alpha of at least 0, got ", alpha_);
  TORCH_CHECK_VALUE(std::isfinite(beta_) && beta_ >= 0, metric,
                    ": expected beta of at least 0, got ", beta_);
  SpatialOptions::validate(metric);
}

at::Tensor SharpenedQuality::scores(image::Tensors images) const {
  const at::Tensor spectral = image::spectral_distortion(
      images[0], images[1], rule_.taps, rule_.norm_order);
  const auto part = [](const at::Tensor& distortion, double exponent) {
    // Below 0, two distortions, or an even power, would make a good one.
    const at::Tensor quality = distortion.neg().add(1).clamp_min(0);
    return exponent == 1 ? quality : quality.pow(exponent);
  };
  return part(spectral, alpha_).mul(part(rule_.distortion(images), beta_));
}

at::Tensor QualityWithNoReference::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
