#include "tally/metrics/image/spatial_correlation_coefficient.h"

#include <ATen/ops/constant_pad_nd.h>

#include "tally/metrics/image/kernels/windows.h"

namespace tally {

namespace image = internal::image;

namespace {

// Variances below this, relative to the square of the largest value, are
// rounding.
constexpr double kRounding = 1e-22;

// Twice the sum of a pixel's differences from its neighbors: exactly 0 where
// they are equal.
at::Tensor edges(const at::Tensor& images) {
  const std::int64_t height = images.size(2), width = images.size(3);
  const at::Tensor padded = image::mirrored(images, 1, 1);
  at::Tensor sum;
  for (const std::int64_t y : {0, 1, 2}) {
    for (const std::int64_t x : {0, 1, 2}) {
      if (y == 1 && x == 1) continue;
      const at::Tensor difference =
          images.sub(padded.narrow(2, y, height).narrow(3, x, width));
      sum = sum.defined() ? sum.add(difference) : difference;
    }
  }
  return sum.mul(2);
}

}  // namespace

void SpatialCorrelation::check(image::Tensors images) const {
  image::check_pairs(images);
  image::check_window(window_size_, images[0]);
}

at::Tensor SpatialCorrelation::scores(image::Tensors images) const {
  const image::Taps taps = image::uniform_taps(window_size_);
  const std::int64_t after = (window_size_ - 1) / 2;
  const std::int64_t before = window_size_ - 1 - after;
  const auto padded = [&](const at::Tensor& values) {
    return at::constant_pad_nd(edges(values), {before, after, before, after});
  };
  const at::Tensor x = padded(images[0]), y = padded(images[1]);
  const at::Tensor mx = image::windowed(x, taps), my = image::windowed(y, taps);
  const auto covariance = [&](const at::Tensor& a, const at::Tensor& b,
                              const at::Tensor& ma, const at::Tensor& mb) {
    return image::windowed(a.mul(b), taps).sub(ma.mul(mb));
  };
  const at::Tensor xx = covariance(x, x, mx, mx), yy = covariance(y, y, my, my);
  const auto is_constant = [&](const at::Tensor& variance,
                               const at::Tensor& of) {
    const at::Tensor most = of.detach().abs().amax({1, 2, 3}, /*keepdim=*/true);
    return variance.detach().le(most.square().mul(kRounding));
  };
  const at::Tensor none =
      is_constant(xx, images[0]).logical_or(is_constant(yy, images[1]));
  const at::Tensor norm =
      xx.masked_fill(none, 1).sqrt().mul(yy.masked_fill(none, 1).sqrt());
  return covariance(x, y, mx, my)
      .div(norm)
      .masked_fill(none, 0)
      .mean({1, 2, 3});
}

at::Tensor SpatialCorrelationCoefficient::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
