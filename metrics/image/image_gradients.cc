#include "tally/metrics/image/image_gradients.h"

#include <ATen/ops/constant_pad_nd.h>
#include <c10/util/Exception.h>

#include "tally/metrics/image/states/image_scores.h"

namespace tally {

ImageGradients image_gradients(const at::Tensor& img) {
  internal::image::check_images("img", img);
  TORCH_CHECK_TYPE(at::isSignedType(img.scalar_type()),
                   "expected img of a dtype with signs, got ",
                   img.scalar_type());
  const auto along = [&](std::int64_t dim) {
    const std::int64_t steps = img.size(dim) - 1;
    return img.narrow(dim, 1, steps).sub(img.narrow(dim, 0, steps));
  };
  return {at::constant_pad_nd(along(2), {0, 0, 0, 1}),
          at::constant_pad_nd(along(3), {0, 1})};
}

}  // namespace tally
