#include "tally/metrics/image/kernels/universal_index.h"

#include <ATen/ops/zeros.h>

#include "tally/metrics/image/kernels/structural.h"

namespace tally::internal::image {

at::Tensor universal_index(const at::Tensor& x, const at::Tensor& y,
                           const Taps& taps) {
  const auto size = static_cast<std::int64_t>(taps.size());
  const at::Tensor flat = is_flat(x, size).logical_and(is_flat(y, size));
  const auto is_zero = [&](const at::Tensor& images) {
    return images.detach()
        .narrow(2, 0, flat.size(2))
        .narrow(3, 0, flat.size(3))
        .eq(0);
  };
  const at::Tensor black = flat.logical_and(is_zero(x)).logical_and(is_zero(y));
  const JointVariances variances = joint_variances(x, y, taps);
  const at::Tensor contrast =
      variances.plus.sub(variances.minus)
          .div(variances.plus.add(variances.minus).masked_fill(flat, 1))
          .masked_fill(flat, 1);
  const at::Tensor mx = windowed(x, taps), my = windowed(y, taps);
  const at::Tensor luminance =
      mx.mul(my)
          .mul(2)
          .div(mx.square().add(my.square()).masked_fill(black, 1))
          .masked_fill(black, 1);
  return luminance.mul(contrast).mean({2, 3});
}

at::Tensor power_mean(const at::Tensor& x, std::int64_t p) {
  if (x.size(-1) == 0)
    return at::zeros(x.sizes().slice(0, x.dim() - 1), x.options());
  if (p == 1) return x.abs().mean(-1);
  const at::Tensor mean = x.abs().pow(p).mean(-1);
  const at::Tensor zero = mean.detach().eq(0);
  return mean.masked_fill(zero, 1)
      .pow(1 / static_cast<double>(p))
      .masked_fill(zero, 0);
}

}  // namespace tally::internal::image
