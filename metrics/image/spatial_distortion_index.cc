#include "tally/metrics/image/spatial_distortion_index.h"

#include <ATen/ops/upsample_bilinear2d.h>
#include <c10/util/Exception.h>

#include "tally/metrics/checks.h"
#include "tally/metrics/image/kernels/universal_index.h"
#include "tally/metrics/image/spectral_distortion_index.h"

namespace tally {

namespace image = internal::image;

namespace {

// That these are as large as `others`, with as many channels or a single one.
void check_pan(const char* input, const at::Tensor& pan,
               const char* other_input, const at::Tensor& others) {
  image::check_images(input, pan);
  internal::check_same_device(input, pan, other_input, others);
  TORCH_CHECK_VALUE(
      pan.size(0) == others.size(0) && pan.size(2) == others.size(2) &&
          pan.size(3) == others.size(3) &&
          (pan.size(1) == 1 || pan.size(1) == others.size(1)),
      "expected ", input, " of the shape of ", other_input,
      ", or with a single channel, got ", pan.sizes(), " and ", others.sizes());
}

}  // namespace

void image::SpatialRule::check(Tensors images) const {
  check_bands(images[0], "ms", images[1],
              static_cast<std::int64_t>(taps.size()));
  const at::IntArrayRef large = images[0].sizes(), small = images[1].sizes();
  TORCH_CHECK_VALUE(large[2] % small[2] == 0 && large[3] % small[3] == 0,
                    "expected height and width of preds to be multiples of "
                    "those of ms, got ",
                    large, " and ", small);
  check_pan("pan", images[2], "preds", images[0]);
  if (images.size() > 3) {
    check_pan("pan_lr", images[3], "ms", images[1]);
  } else {
    check_window(window_size, images[1]);
  }
}

at::Tensor image::SpatialRule::distortion(Tensors images) const {
  const at::Tensor& preds = images[0];
  const at::Tensor& ms = images[1];
  const at::Tensor& pan = images[2];
  at::Tensor low;
  if (images.size() > 3) {
    low = images[3];
  } else {
    const std::int64_t before = window_size / 2;
    low = at::upsample_bilinear2d(
        windowed(mirrored(pan, before, window_size - 1 - before),
                 uniform_taps(window_size)),
        ms.sizes().slice(2), /*align_corners=*/false);
  }
  const at::Tensor in_low = universal_index(ms, low.expand_as(ms), taps);
  const at::Tensor in_high = universal_index(preds, pan.expand_as(preds), taps);
  return power_mean(in_low.sub(in_high), norm_order);
}

at::Tensor SpatialDistortionIndex::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
