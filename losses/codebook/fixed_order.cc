#include "tally/losses/codebook/fixed_order.h"

#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "tally/sync/autograd.h"

namespace tally::losses::internal {
namespace {

at::Tensor fixed_sqrt(const at::Tensor& values) {
  // On a CPU ATen leaves it to MKL, which does not round it the same way
  // everywhere.
  if (!values.is_cpu()) return values.detach().sqrt();
  at::Tensor roots = values.detach().clone(at::MemoryFormat::Contiguous);
  AT_DISPATCH_FLOATING_TYPES(roots.scalar_type(), "fixed_sqrt", [&] {
    auto* root = roots.mutable_data_ptr<scalar_t>();
    for (auto* const end = root + roots.numel(); root != end; ++root) {
      *root = std::sqrt(*root);
    }
  });
  return roots;
}

}  // namespace

at::Tensor fixed_sum(const at::Tensor& terms) {
  const at::NoGradGuard no_grad;
  at::Tensor sums = terms.detach().clone();
  if (sums.size(-1) == 0) {
    return at::zeros(sums.sizes().slice(0, sums.dim() - 1), sums.options());
  }
  // The second half is added to the first.
  for (std::int64_t size = sums.size(-1); size > 1;) {
    const std::int64_t half = (size + 1) / 2;
    sums.narrow(-1, 0, size - half).add_(sums.narrow(-1, half, size - half));
    size = half;
  }
  return sums.select(-1, 0).clone();
}

at::Tensor fixed_product(const at::Tensor& vectors, const at::Tensor& matrix) {
  at::Tensor values;
  {
    const at::NoGradGuard no_grad;
    values = vectors.narrow(-1, 0, 1).mul(matrix[0]);
    for (std::int64_t k = 1; k < matrix.size(0); ++k) {
      values.add_(vectors.narrow(-1, k, 1).mul(matrix[k]));
    }
  }
  if (!vectors.requires_grad()) return values;
  return sync::replace_values(vectors.matmul(matrix), values);
}

at::Tensor unit_vectors(const at::Tensor& vectors) {
  at::Tensor lengths =
      fixed_sqrt(fixed_sum(vectors.detach().square())).unsqueeze(-1);
  if (vectors.requires_grad()) {
    lengths =
        sync::replace_values(vectors.norm(2, {-1}, /*keepdim=*/true), lengths);
  }
  return vectors.div(lengths.clamp_min(1e-6));
}

}  // namespace tally::losses::internal
