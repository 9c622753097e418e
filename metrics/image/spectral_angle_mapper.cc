#include "tally/metrics/image/spectral_angle_mapper.h"

#include <ATen/ops/atan2.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <c10/util/Exception.h>

namespace tally {

namespace image = internal::image;

namespace {

constexpr double kRight = 1.57079632679489661923;

at::Tensor length(const at::Tensor& spectra) {
  return at::linalg_vector_norm(spectra, 2, {1}, /*keepdim=*/true);
}

}  // namespace

void SpectralAngle::check(image::Tensors images) const {
  image::check_pairs(images);
  TORCH_CHECK_VALUE(images[0].size(1) >= 2,
                    "expected images of at least 2 channels, got ",
                    images[0].size(1));
}

at::Tensor SpectralAngle::scores(image::Tensors images) const {
  const at::Tensor& u = images[0];
  const at::Tensor& v = images[1];
  const at::Tensor a = u.mul(length(v)), b = v.mul(length(u));
  const at::Tensor apart = length(a.sub(b)), along = length(a.add(b));
  // Of pixels without a spectrum, whose gradient would be 0 / 0.
  const at::Tensor none =
      apart.detach().eq(0).logical_and(along.detach().eq(0));
  const at::Tensor equal = u.detach().eq(v.detach()).all(1, /*keepdim=*/true);
  const at::Tensor angles = at::atan2(apart, along.masked_fill(none, 1)).mul(2);
  return angles.masked_fill(none, kRight)
      .masked_fill(none.logical_and(equal), 0)
      .mean({1, 2, 3});
}

at::Tensor SpectralAngleMapper::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
