#include "tally/metrics/image/error_relative_global_dimensionless_synthesis.h"

#include "tally/metrics/image/kernels/windows.h"

namespace tally {

namespace image = internal::image;

void ErrorRelativeGlobalDimensionlessSynthesisOptions::validate(
    const char* metric) const {
  image::check_positive(metric, "ratio", ratio_);
}

void RelativeGlobalError::check(image::Tensors images) const {
  image::check_pairs(images);
}

at::Tensor RelativeGlobalError::scores(image::Tensors images) const {
  const at::Tensor squares = images[0].sub(images[1]).square().mean({2, 3});
  const at::Tensor means = images[1].mean({2, 3});
  return image::root(squares.div(means.square()).mean(1)).mul(100 / ratio_);
}

at::Tensor ErrorRelativeGlobalDimensionlessSynthesis::evaluate(
    const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
