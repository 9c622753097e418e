#include "tally/metrics/image/kernels/universal_index.h"

#include <ATen/ops/zeros.h>

#include "tally/metrics/image/kernels/structural.h"

namespace tally::internal::image {

at::Tensor universal_index(const at::Tensor& x, const at::Tensor& y,
                           const Taps& taps) {
  return structural_similarity(x.flatten(0, 1), y.flatten(0, 1), taps,
                               {/*c1=*/0, /*c2=*/0, /*has_flat=*/true})
      .select(1, 0)
      .view({x.size(0), x.size(1)});
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
