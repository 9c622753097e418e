#include "tally/metrics/image/relative_average_spectral_error.h"

#include "tally/metrics/image/kernels/pixel_windows.h"
#include "tally/metrics/image/kernels/windows.h"

namespace tally {

namespace image = internal::image;

void AverageSpectralError::check(image::Tensors images) const {
  image::check_pairs(images);
  image::check_pixel_windows(window_size_, images[0]);
}

at::Tensor AverageSpectralError::scores(image::Tensors images) const {
  const auto means = [&](const at::Tensor& values) {
    return image::inner_means(values, window_size_).mean(1);
  };
  return image::root(means(images[0].sub(images[1]).square()))
      .div(means(images[1]).abs())
      .mul(100)
      .mean({1, 2});
}

at::Tensor RelativeAverageSpectralError::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
