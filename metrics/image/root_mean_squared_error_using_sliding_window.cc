#include "tally/metrics/image/root_mean_squared_error_using_sliding_window.h"

#include "tally/metrics/image/kernels/pixel_windows.h"
#include "tally/metrics/image/kernels/windows.h"

namespace tally {

namespace image = internal::image;

void SlidingError::check(image::Tensors images) const {
  image::check_pairs(images);
  image::check_pixel_windows(window_size_, images[0]);
}

at::Tensor SlidingError::scores(image::Tensors images) const {
  return image::root(image::inner_means(images[0].sub(images[1]).square(),
                                        window_size_))
      .mean({1, 2, 3});
}

at::Tensor RootMeanSquaredErrorUsingSlidingWindow::evaluate(
    const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
